// Package clusterlimit is the [ratelimit.Limiter] of several nodes: they count on
// shared counters ([counters.Counters]: Redis, PostgreSQL), and each node decides
// locally while these are unavailable.
//
// Each partition of the counters has a circuit breaker, which is
//
//   - closed: the counters decide. Requests that arrive together are charged in one
//     call, and the returned facts determine the response. Exactly the quota is
//     admitted, on whichever nodes. A node decides the requests of a late call within
//     its share, and probes the counters. One without a share waits longer for them.
//   - open: no probe is answered. No request waits for the counters. A node admits
//     its share of each minute: of what the counters last reported to be left, or of
//     the part of the minute that was left when they were lost; later, of all of it.
//   - half-open: they respond again. For a second, and until this node has reported
//     what it admitted locally, both must agree: the counters and this node's share.
//
// A node has a budget for each account and minute, set when it is first needed and
// never renewed, whatever happens to the counters. The budgets of all nodes that
// know of each other add up to at most the quota, so a minute in which the counters
// fail and recover, however often, has at most twice the quota. When they begin a
// new epoch, because they were emptied or replaced, their counts may be too low:
// both must agree until the minute ends.
//
// A share is a part of the quota: the database lists the nodes and their order. A
// node that cannot reach the counters says so there, and the others reserve its
// share. A dead node costs nobody any quota while the counters are available.
//
// The [petcat.DayStore] keeps the use of a day. Nodes lease blocks of it for the
// counters, and other blocks for what they admit locally ([ratelimit.Memory]). When
// the store is unavailable as well, they continue from the last known count, and
// what they admit is owed.
//
// Early retries are counted on each node and summed once a second. Only refusals by
// a whole quota count. Bans are in every node's memory and spread through the change
// log.
//
// The rules are the pure methods of account, state and Membership, which the simulation
// in this package's tests drives through whole clusters in virtual time.
package clusterlimit
