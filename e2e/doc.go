// Package e2e tests the program as its users have it: it builds the binary, starts servers
// and commands of it, and speaks to them by HTTP, signals, files and exit codes. It looks at
// nothing inside, and mocks nothing: the databases are real.
//
// A test judges states, never durations: it waits until something holds, and fails after
// [patience]. Quotas are judged by the windows that the answers tell of, see [spent], so no
// test waits for a minute to end, or cares where one ends.
//
// What takes minutes, luck or root is behind the build tag long, what needs a browser behind
// the build tag browser; the Makefile has a target for each.
package e2e
