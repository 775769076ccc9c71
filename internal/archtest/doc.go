// Package archtest holds tests of what the packages link, which no linter sees: .golangci.yml
// looks at direct imports alone. It needs the go command and the module cache.
package archtest
