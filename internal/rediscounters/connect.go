package rediscounters

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/rueidis"
)

// link returns the client, once the server has been reached.
type link func() (rueidis.Client, error)

// reach returns the link. If there is none, whoever first asks it for the client
// connects, and the others wait.
func (c *Counters) reach(ctx context.Context) *link {
	for {
		if l := c.link.Load(); l != nil {
			return l
		}
		var l link
		l = sync.OnceValues(func() (rueidis.Client, error) {
			client, err := c.connect(context.WithoutCancel(ctx))
			if err != nil {
				c.link.CompareAndSwap(&l, nil) // the next call tries again
			}
			return client, err
		})
		c.link.CompareAndSwap(nil, &l)
	}
}

// connect reaches the server and checks that it may be used.
func (c *Counters) connect(ctx context.Context) (rueidis.Client, error) {
	client, err := rueidis.NewClient(c.clientOption())
	if err != nil {
		return nil, err
	}
	if err := c.checkServers(ctx, client); err != nil {
		go client.Close()
		return nil, err
	}
	return client, nil
}

// hangUp ends a link, which takes time when the server hangs.
func (l *link) hangUp() {
	if l != nil {
		go func() {
			if client, err := (*l)(); err == nil {
				client.Close()
			}
		}()
	}
}

const (
	dialTimeout     = time.Second
	topologyRefresh = 5 * time.Second
)

// clientOption returns the client's settings. Connections that are silent for a second
// are tried: a server that was cut off without a word keeps none for longer.
func (c *Counters) clientOption() rueidis.ClientOption {
	e := c.endpoint
	o := rueidis.ClientOption{
		InitAddress: e.addresses,
		Username:    e.username,
		Password:    e.password.Reveal(),
		SelectDB:    e.database,
		ClientName:  "petcat",
		Dialer:      net.Dialer{Timeout: dialTimeout, KeepAlive: time.Second},

		ConnWriteTimeout:    time.Second,
		PipelineMultiplex:   -1, // one connection to each server: a probe that is answered tells of all
		ReadBufferEachConn:  64 << 10,
		WriteBufferEachConn: 64 << 10,
		DisableRetry:        true, // a charge whose answer was lost must not be sent again
		DisableCache:        true,
		ClientSetInfo:       []string{"petcat", ""},
		ForceSingleClient:   e.topology == single,
		ClusterOption:       rueidis.ClusterOption{MaxMovedRedirections: 2, ShardsRefreshInterval: topologyRefresh},
	}
	if e.tls {
		o.TLSConfig = cmp.Or(c.options.TLS, &tls.Config{MinVersion: tls.VersionTLS12})
	}
	if e.topology == sentinel {
		o.Sentinel = rueidis.SentinelOption{
			MasterSet: e.master, Username: e.sentinelUsername, Password: e.sentinelPassword.Reveal(),
			Dialer: o.Dialer, TLSConfig: o.TLSConfig, TopologyRefreshInterval: topologyRefresh,
		}
	}
	return o
}

// refusal is what a server answered in place of doing what it was asked to, or why it
// must not be used although it answers.
type refusal struct {
	text  string
	final bool // it will not go away by itself
}

func (r *refusal) Error() string { return r.text }

// finals say what will not go away by itself to somebody who sets a server up: its own
// words are for those who write clients.
var finals = map[string]string{ //nolint:gochecknoglobals // a table that nobody changes
	"NOAUTH":    "it wants a password (NOAUTH)",
	"WRONGPASS": "it refuses the user or the password (WRONGPASS)",
	"NOPERM":    "it gives the user too few rights (NOPERM)",
	"DB":        "it does not have the URL's database (DB index is out of range)",
	"This":      "it is no part of a cluster: its URL begins with redis:// or redis-sentinel://", // This instance has cluster support disabled
}

// inWords makes what a server answered fit to be shown: it might repeat a command.
func inWords(err error) error {
	if _, answered := rueidis.IsRedisErr(err); !answered {
		return err
	}
	// Some versions of the client leave ERR out.
	kind, _, _ := strings.Cut(strings.TrimPrefix(err.Error(), "ERR "), " ")
	if text := finals[kind]; text != "" {
		return &refusal{text, true}
	}
	return &refusal{"the shared counters answered " + kind, false}
}

// checkServers refuses servers that would make wrong promises of ours. Of a cluster,
// some may be away.
func (c *Counters) checkServers(ctx context.Context, client rueidis.Client) error {
	for address, server := range client.Nodes() {
		ctx, cancel := context.WithTimeout(ctx, dialTimeout)
		info, away := server.Do(ctx, server.B().Info().Section("server", "memory", "replication").Build()).ToString()
		cancel()
		if away == nil {
			away = c.checkInfo(address, info)
		}
		if r, is := errors.AsType[*refusal](inWords(away)); is && r.final || c.endpoint.topology != cluster {
			return away
		}
	}
	return nil
}

func (c *Counters) checkInfo(address, info string) error {
	version, policy := infoField(info, "redis_version"), infoField(info, "maxmemory_policy")
	mode := cmp.Or(infoField(info, "redis_mode"), infoField(info, "server_mode")) // the latter is Valkey's
	major, _, _ := strings.Cut(version, ".")
	n, err := strconv.Atoi(major)
	no := func(format string, args ...any) error {
		return &refusal{address + " " + fmt.Sprintf(format, args...), true}
	}
	switch {
	// Valkey calls itself compatible with 7.2.
	case err != nil || n < 7:
		return no("runs version %q; Redis 7 or Valkey 8, or newer, is needed", version)
	case infoField(info, "master_replid") == "":
		return no("does not tell its replication id (INFO replication), which shows restarts")
	case mode == "cluster" && c.endpoint.topology != cluster:
		return no("is part of a cluster: its URL begins with redis-cluster://")
	case policy == "noeviction" || policy == "":
	case c.options.AllowEviction:
		c.options.Logger.Warn("the server of the shared counters may evict counts when its memory is full; set maxmemory-policy to noeviction", "address", address, "policy", policy)
	default:
		return no("may evict counts when its memory is full (maxmemory-policy is %s): set it to noeviction", policy)
	}
	return nil
}

// infoField returns a field of an answer to INFO.
func infoField(info, name string) string {
	_, rest, _ := strings.Cut(info, "\n"+name+":")
	value, _, _ := strings.Cut(rest, "\r")
	return value
}
