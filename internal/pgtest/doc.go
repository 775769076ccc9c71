// Package pgtest gives tests a PostgreSQL: the one that all packages share, which
// scripts/with-postgres starts, or one of the package's own. Each test has a database of
// its own there, made from a template that has petcat's tables already.
//
// A test that kills, suspends or configures a server starts one for itself with [New], from
// the binaries of the machine or those in the folder that PETCAT_TEST_POSTGRES names. As
// root, who may not run PostgreSQL, it runs as the user postgres or nobody. It is removed
// when the test ends.
package pgtest
