//go:build !linux

package e2e

import "testing"

func disk(t *testing.T, _ int64) string {
	t.Helper()
	t.Skip("a small disk can be made on Linux alone")
	return ""
}

func readOnlyDisk(t *testing.T) string { return disk(t, 0) }
