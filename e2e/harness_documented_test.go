package e2e

import "time"

// What the tests hold the program to: see Limits of the sockets in docs/operations.md.
const (
	headerTimeout = 5 * time.Second
	bodyTimeout   = 10 * time.Second
	writeTimeout  = 30 * time.Second
	idleTimeout   = time.Minute
	stallTimeout  = 15 * time.Second
	// lingerTimeout is how long a client may go on to send after it was answered.
	lingerTimeout = 10 * time.Second
	// deadlineTick is how late a socket's deadline may be: so often they are looked at.
	deadlineTick = 250 * time.Millisecond
	// http2Streams is how many requests may be in flight on one connection.
	http2Streams = 32
	// maxUnauthenticated is how many connections an address may have that have shown no valid
	// key for unauthenticatedGrace.
	maxUnauthenticated   = 100
	unauthenticatedGrace = time.Second
	// maxRefused is how many requests a second are answered on a connection that has
	// shown no valid key, or exceeds its limits.
	maxRefused = 100
	// certificateInterval is how often the files of the certificate are looked at.
	certificateInterval = time.Second
	// gcHeadroom is how much garbage may gather before it is collected, bytes.
	gcHeadroom = 64 << 20
)
