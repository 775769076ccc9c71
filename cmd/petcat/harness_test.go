package main

import (
	"strings"
	"testing"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// mustRun runs a command in this process, without a terminal, and returns its output. It must succeed.
func mustRun(t *testing.T, args ...string) string {
	t.Helper()
	var stdout, stderr strings.Builder
	if code := run(t.Context(), args, nil, strings.NewReader(""), &stdout, &stderr); code != exitDone {
		t.Fatalf("petcat %s: exit code %d: %s", strings.Join(args, " "), code, stderr.String())
	}
	return stdout.String()
}

// openAccount creates a deployment with an account on the Free plan.
func openAccount(t *testing.T, data, name string) {
	t.Helper()
	mustRun(t, "init", "--data", data)
	mustRun(t, "account", "create", name, "--plan", "free", "--data", data)
}
