//go:build !linux

package doctor

// synchronized is unknown on systems other than Linux.
func synchronized() (synchronized, known bool) { return false, false }
