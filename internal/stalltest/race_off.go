//go:build !race

package stalltest

// Race says that tests run under the race detector. It makes a program several times as
// slow and as large, so no bound of time or memory holds for it.
const Race = false
