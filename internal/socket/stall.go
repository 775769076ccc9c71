package socket

import (
	"net"
	"time"
)

// unsentBytes is how much of what was written to a connection the system keeps
// beyond what the client's window takes. Without it, that is megabytes for each
// client that asks and does not read.
const unsentBytes = 128 << 10

// Config returns how to listen so that the system ends each connection whose client
// takes nothing of what was written to it for so long, and keeps little for it. To
// this process, what the system has taken is answered: such a connection seems idle.
//
// Only Linux can; elsewhere the other timeouts are what there is.
func Config(stall time.Duration) *net.ListenConfig {
	config := &net.ListenConfig{Control: endStalled(stall)}
	config.SetMultipathTCP(false) // it does not know the options
	return config
}
