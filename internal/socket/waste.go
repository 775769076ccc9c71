package socket

import (
	"net"
	"time"

	"petcat/internal/clientnet"
)

const (
	// wastedPerServed is how many wasted connections one that was served pays for:
	// HTTP clients open some that they do not use.
	wastedPerServed = 2
	// wasteDebt bounds how long a client is refused that had many connections open when
	// its last one was granted.
	wasteDebt = time.Minute
	// mostWasters bounds the memory for them, to about 3 MB. Those past it waste for
	// nothing; it takes more than a hundred thousand connections a second to get there.
	mostWasters = 65_536
	// mostFiltered bounds the filter of the system, which looks at one after the other.
	// Those past it are refused by this process.
	mostFiltered = 128
)

// waste is what clients have wasted. The listener's mu guards it.
type waste struct {
	// paid is when each client may waste as many connections as one that has never
	// wasted any. It moves with each that is wasted, by what one costs.
	paid map[clientnet.Net]time.Duration // since the listener's origin
	shut map[clientnet.Net]struct{}      // those that are refused
}

// price is what a wasted connection costs: the time until it is forgotten.
func (l *Listener) price() time.Duration {
	return time.Second / time.Duration(l.limits.WastedPerSecond)
}

// account notes that a connection has ended. The caller holds mu.
func (l *Listener) account(c *conn) {
	if l.limits.Wasted == 0 || c.exempt {
		return
	}
	now := time.Duration(l.tick.Load())
	paid, known := l.waste.paid[c.client]
	switch {
	case c.served.Load() && known:
		l.waste.paid[c.client] = paid - wastedPerServed*l.price()
	case !c.served.Load() && (known || len(l.waste.paid) < mostWasters):
		most := time.Duration(l.limits.Wasted)*l.price() + wasteDebt
		l.waste.paid[c.client] = min(max(paid, now)+l.price(), now+most)
	}
}

// refuses reports whether a new connection is one of a client that has wasted too
// many. From then on, the system refuses its next ones. The caller holds mu.
func (l *Listener) refuses(c *conn) bool {
	if l.limits.Wasted == 0 {
		return false
	}
	if _, shut := l.waste.shut[c.client]; shut {
		return true // the system has let it in before it was told
	}
	if l.waste.paid[c.client]-c.accepted <= time.Duration(l.limits.Wasted-1)*l.price() {
		return false
	}
	l.waste.shut[c.client] = struct{}{}
	if len(l.waste.shut) <= mostFiltered {
		l.filter()
	}
	return true
}

// forgive lets clients in again that may waste connections for a second. The caller
// holds mu.
func (l *Listener) forgive(now time.Duration) {
	for client, paid := range l.waste.paid {
		if paid <= now {
			delete(l.waste.paid, client)
		}
	}
	before := len(l.waste.shut)
	for client := range l.waste.shut {
		if l.waste.paid[client]-now <= time.Duration(l.limits.Wasted)*l.price()-time.Second {
			delete(l.waste.shut, client)
		}
	}
	if len(l.waste.shut) < before {
		l.filter()
	}
}

// filter tells the system whose connections are refused. What it cannot do, enter
// does. The caller holds mu.
func (l *Listener) filter() {
	clients := make([]clientnet.Net, 0, mostFiltered)
	for client := range l.waste.shut {
		if clients = append(clients, client); len(clients) == mostFiltered {
			break
		}
	}
	if tcp, ok := l.Listener.(*net.TCPListener); ok {
		filter(tcp, clients)
	}
}
