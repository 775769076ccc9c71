//go:build !linux

package doctor

// synchronised is not known on systems other than Linux.
func synchronised() (synchronised, known bool) { return false, false }
