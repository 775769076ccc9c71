//go:build !linux

package e2e

import "syscall"

// diesWithTest is not supported here: a killed test leaves its processes.
func diesWithTest() *syscall.SysProcAttr { return nil }
