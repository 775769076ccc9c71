//go:build !linux

package main

import "syscall"

// diesWithTest has no means here: a test that is killed leaves its processes.
func diesWithTest() *syscall.SysProcAttr { return nil }
