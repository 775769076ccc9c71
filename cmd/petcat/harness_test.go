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

// petcatRuns runs the program in this process, without a terminal, and returns its output.
func petcatRuns(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs strings.Builder
	code = run(t.Context(), args, nil, strings.NewReader(""), &out, &errs)
	return code, out.String(), errs.String()
}

// mustRun is petcatRuns for commands that must succeed.
func mustRun(t *testing.T, args ...string) string {
	t.Helper()
	code, stdout, stderr := petcatRuns(t, args...)
	if code != exitDone {
		t.Fatalf("petcat %s: exit code %d: %s", strings.Join(args, " "), code, stderr)
	}
	return stdout
}

// openAccount creates a deployment with an account on the Free plan.
func openAccount(t *testing.T, data, name string) {
	t.Helper()
	mustRun(t, "init", "--data", data)
	mustRun(t, "account", "create", name, "--plan", "free", "--data", data)
}
