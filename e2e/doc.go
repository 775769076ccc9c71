// Package e2e tests the program as its users have it: it builds the binary, starts
// servers, commands and clusters of it, and speaks to them by HTTP, signals, files and
// exit codes. It looks at nothing inside: what it expects is what docs/ promises. Only
// TestMoveBetweenStores opens stores by itself, because no package below knows both.
//
// It refuses mocks: the databases, Redis, disks and proxies are real. Where one is not
// installed, its tests are skipped, or fail when PETCAT_TEST_REQUIRE is set.
package e2e
