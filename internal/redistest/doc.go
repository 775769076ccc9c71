// Package redistest starts Redis or Valkey servers for tests, from the machine's
// binary, or the one that PETCAT_TEST_REDIS names, on loopback ports that were free,
// in folders of their own and without persistence, and breaks them: it can kill,
// suspend, restart and empty them.
//
// It never uses a server that runs on the machine. Without a binary tests are
// skipped, or fail when PETCAT_TEST_REQUIRE is set. It is for tests alone and is
// linked into no program.
package redistest
