// Package limittest is the suite that every [ratelimit.Limiter] passes, so that the
// limits are the same wherever the counts are kept: [Run] tests the rules one by
// one, [RunModel] compares a limiter with a naive second implementation over a long
// random history. [Days] is a store of day counts for tests that lives in memory and
// breaks when told to.
//
// It is for tests alone and is linked into no program.
package limittest
