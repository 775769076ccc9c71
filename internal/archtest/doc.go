// Package archtest holds tests about the repository itself: which package links
// which, and whether documents and deployments match the code. It exports nothing
// and is linked into no program.
//
// The rules that a linter can see in one file are in .golangci.yml. Here are those
// that need the whole: everything that a package links, directly or not, all
// documents and all sources, and the list of the binary's modules. Each rule states
// its reason.
//
// It needs the go command and the module cache, and fails without them.
package archtest
