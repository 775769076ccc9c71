// Package archtest tests which packages are linked, directly or indirectly. The linters in
// .golangci.yml see only direct imports. The tests need the go command and the module cache.
package archtest
