// Package tooltest finds the programs that tests run beside petcat: proxies,
// clients, checkers. It is for tests alone and is linked into no program. It
// installs nothing: where a program is missing, a test is skipped, or fails when
// PETCAT_TEST_REQUIRE is set, and says what to install.
package tooltest

import (
	"os"
	"os/exec"
	"testing"
)

// Find returns the path of a program, which Debian has in the named package. It
// ends the test when there is none.
func Find(tb testing.TB, program, debianPackage string) string {
	tb.Helper()
	// Where Debian has some of them, and where only root looks.
	for _, name := range []string{program, "/usr/sbin/" + program} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	Missing(tb, program+" is not installed; on Debian: apt-get install --no-install-recommends "+debianPackage)
	return ""
}

// NeedServer skips a test that starts a server when only short tests are asked for.
func NeedServer(tb testing.TB) {
	tb.Helper()
	if testing.Short() {
		tb.Skip("it starts a server: make test runs it, make quick does not")
	}
}

// Missing ends a test that cannot run because of what is missing: as failed when
// PETCAT_TEST_REQUIRE is set, else as skipped.
func Missing(tb testing.TB, what string) {
	tb.Helper()
	if os.Getenv("PETCAT_TEST_REQUIRE") != "" {
		tb.Fatal(what)
	}
	tb.Skip(what)
}
