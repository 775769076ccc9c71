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
// A Free account, 60 requests a minute and 1,000 a day, begins at 10:00:18.
// Its first request is admitted, and told 60/59, reset 10:01:00: of the two
// windows the minute has less left. The 61st is refused, told 60/0, and asked
// to come back after 42 s; the day still stands at 940. At 10:01:00 the minute
// is new. After 985 requests of the day and 10 of the minute the headline is
// 1000/15, reset at midnight: now the day has less left. The 1,001st is refused
// by the day, and asked to come back at midnight and up to 60 s more, so that
// not everybody comes at once; the number is the key's own for that day and
// does not change. On a tie, the headline is the longer window's.
//
// A key that goes on sending after a refusal is banned for a while, by the
// rules and durations of [petcat.Ban]. Requests that come within 2 s of the
// first refusal of their window were under way and are nobody's fault. A ban
// ends when it was said to end, whatever is sent meanwhile.
//
// # Memory
//
// [Memory] is the limiter of a single node. The minute is counted in memory and
// forgotten by a restart. The day is leased from a [petcat.DayStore], a
// two-hundredth of the quota at a time, durably and ahead of need, in batches
// by one goroutine: so no request waits for a disk but the first of an account
// on a day, and those that outrun the lease. A crash forgets what was leased
// and not spent, at most a hundredth of the quota (or one request, of quotas
// below 200), and never admits more than the quota. Close gives all of it back.
//
// An account takes less than 300 bytes, and is dropped after ten minutes
// without a request. A key takes memory only once it is refused or banned, some
// 400 bytes at most, until that no longer matters. Both are bounded by the
// accounts and keys that exist.
//
// # When something is away
//
// When the store refuses to lease (its disk is full, say) but can be read,
// requests are admitted from memory up to the quota, and the store is told once
// it is back; it is asked about every second. When it cannot be read either,
// that holds for the accounts that are known; others get an error with
// [petcat.CodeServiceUnavailable], never a refusal, because it is not their
// fault. A store that hangs is treated so after 2 s. A store that does its work and
// cannot say so is asked the same again, by the call's number, until it says so: what
// it leased then is leased once, and what it took back was taken back once. A crash during such a time
// forgets what was admitted in it, so that the day's quota can then be passed
// by as much. [Stats] and the log say when it is so.
//
// When the wall clock is wrong, see [Clock]: no window comes twice, and nobody
// is kept out for longer than one window.
//
// # Callers without a key
//
// [FailureBucket] limits failed credentials by address. Requests with a valid
// key never come near it, so that nobody suffers for a neighbour.
//
// The package does no HTTP; it refuses to admit first and count later, to give
// requests back, and to answer a refusal without saying when to return.
package ratelimit
