// Package e2e tests the whole program: it builds the binary, starts servers and commands, and uses
// them through HTTP, signals, files and exit codes. It does not use internals or mocks; the databases are
// real.
//
// The tests check states, not durations: they poll for a condition, and fail after [patience]. They
// check quotas by the windows in the responses (see [spent]), so they do not depend on the start of a
// minute.
//
// Tests that take minutes, or need luck or root, have the build tag long. Tests that need a browser
// have the build tag browser. The Makefile has targets for them.
package e2e
