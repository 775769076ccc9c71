// Package pgtest runs a PostgreSQL server for tests, from the binaries of the
// machine or those in the folder that PETCAT_TEST_POSTGRES names, in a folder of its
// own (see [FolderVariable]), and can kill, suspend and restart it. It listens on a Unix
// socket and on a loopback port that was free.
//
// It never uses a server that runs on the machine, and removes everything when the
// tests end. As root, who may not run PostgreSQL, it runs the server as the user
// postgres or nobody. Without the binaries tests are skipped, or fail when
// PETCAT_TEST_REQUIRE is set.
package pgtest
