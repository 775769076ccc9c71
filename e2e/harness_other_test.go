//go:build !linux

package e2e

import "syscall"

// diesWithTest has no means here: a test that is killed leaves its processes.
func diesWithTest() *syscall.SysProcAttr { return nil }
