package doctor

import "syscall"

// synchronized reports whether the kernel considers the clock synchronized, as set by an NTP client.
func synchronized() (synchronized, known bool) {
	state, err := syscall.Adjtimex(&syscall.Timex{})
	return state != 5, err == nil // TIME_ERROR of adjtimex(2)
}
