// Package archtest holds tests about the repository itself: who links whom,
// what every package must and must not have, and whether the papers tell the
// truth about the code. It exports nothing and is linked into nothing.
//
// The rules that a linter can see in one file are in .golangci.yml. Here are
// those that need the whole: everything that a package links in the end, every
// document beside every source, the list of what the binary is made of. Each
// rule carries its reason, because a rule whose reason is forgotten is either
// broken or obeyed for nothing.
//
// It needs the go command and the module cache, and fails without them: a rule
// that is not checked is not a rule.
package archtest
