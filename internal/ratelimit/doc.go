// Package ratelimit decides, for every authenticated request, whether it is
// admitted, and what the caller is told about it.
//
// A request is charged to two fixed windows of the UTC clock, the minute and
// the day, in one step: to both or to neither. A refused one is charged to
// none. What the caller is told, how much is left, when the window ends and how
// long to wait, comes from the same moment as the decision.
//
// # An example
//
// A Free account, 60 requests a minute and 1,000 a day, begins at 10:00:18. Its
// first request is admitted, and told 60/59, reset 10:01:00: of the two windows the
// minute has less left. The 61st is refused, told 60/0, and asked to retry after 42
// s; the day still stands at 940. At 10:01:00 the minute is new. After 985 requests
// of the day and 10 of the minute it is told 1000/15, reset at midnight: now the day is
// the effective window, which has less left. The 1,001st is refused by the day, and asked
// to retry at midnight and up to 60 s more, so that not all clients retry at once; the
// number is the key's own for that day and does not change. On a tie, the effective
// window is the longer one.
//
// A key that goes on sending after a refusal is banned for a while, by the rules and
// durations of [petcat.Ban]. Requests within 2 s of the first refusal of their
// window may have been in flight and do not count. A ban ends at the announced time,
// whatever is sent meanwhile.
//
// # Memory
//
// [Memory] is the limiter of a single node. The minute is counted in memory and
// forgotten by a restart. The day is leased from a [petcat.DayStore], a
// two-hundredth of the quota at a time, durably and ahead of need, in batches by one
// goroutine: so no request waits for a disk but the first of an account on a day,
// and those that arrive faster than the next lease. After a crash, what was leased
// and not used is lost, at most a hundredth of the quota (or one request, of quotas
// below 200), and never is more than the quota admitted. Close returns all of it.
//
// An account takes less than 300 bytes, and is dropped after ten minutes
// without a request. A key takes memory only once it is refused or banned, some
// 400 bytes at most, until that no longer matters. Both are bounded by the
// accounts and keys that exist.
//
// # When something is unavailable
//
// When the store refuses to lease (its disk is full, say) but can be read, requests
// are admitted from memory up to the quota, and the store gets their counts once it
// is back; it is tried about every second. When it cannot be read either, that holds
// for the accounts that are known; others get an error with
// [petcat.CodeServiceUnavailable], never a refusal. A store that hangs is treated so
// after 2 s. If a store commits but cannot confirm, the limiter repeats the same
// call, with its number, until it is confirmed: each lease and each return takes
// effect once. After a crash during such a time, what was admitted in it is
// forgotten, and the day quota can be exceeded by as much. [Stats] and the log show
// this state.
//
// When the wall clock is wrong, see [Clock]: no window comes twice, and nobody
// is kept out for longer than one window.
//
// # Callers without a key
//
// [FailureBucket] limits failed credentials by address. It does not apply to valid
// keys.
//
// The package does no HTTP. It never admits before it counts, never refunds a
// request, and gives every refusal a time to retry.
package ratelimit
