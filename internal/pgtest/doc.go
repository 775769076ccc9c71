// Package pgtest provides PostgreSQL servers for tests. By default all packages share the server
// that scripts/with-postgres starts; without it, each package starts its own. Each test has its
// own database, a copy of a template with petcat's tables.
//
// A test that kills, suspends or configures a server starts a private one with [New], from the
// installed programs or those in the folder PETCAT_TEST_POSTGRES. If the test runs as root, the
// server runs as the user postgres or nobody, because PostgreSQL does not run as root. The
// server is removed when the test ends.
package pgtest
