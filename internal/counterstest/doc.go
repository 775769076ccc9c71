// Package counterstest is the suite that every [counters.Counters] passes, so that
// the rules are the same for every implementation: [Run] tests the rules one by one
// and compares an implementation, step by step over a long random history, with
// counters.Account. [Reference] is an implementation in memory that is emptied,
// replaced by a lagging copy and restarted when told to.
//
// It is for tests alone and is linked into no program.
package counterstest
