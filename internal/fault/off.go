//go:build !faults

package fault

// Enabled tells whether the program was built with fault points.
const Enabled = false

// Hit does nothing in this build.
func Hit(Point) error { return nil }
