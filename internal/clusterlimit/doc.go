// Package clusterlimit is the [ratelimit.Limiter] of several nodes: they count together
// on shared counters ([counters.Counters]: Redis, PostgreSQL), and each by itself while
// these are away.
//
// Each partition of the counters has a circuit breaker, which is
//
//   - closed: the counters decide. A request is charged in a call that it shares with
//     others which came in together, and the facts say what the caller is told. Exactly
//     the quota is admitted, on whichever nodes.
//   - open: the counters do not answer. No request waits for them. A node admits its
//     share of each minute: of what it was told to be left, or of the whole minute.
//   - half-open: they answer again. For a second, and until this node has reported what it
//     admitted by itself, both must agree: the counters and this node's share.
//
// A node has a budget for each account and minute, set when it is first needed and never
// renewed, whatever happens to the counters. The budgets of all nodes that know of each
// other add up to at most the quota, so a minute in which the counters are lost and found,
// however often, has at most twice the quota. When they begin a new epoch, because they were emptied or
// replaced, their counts may be too low: both must agree until the minute ends.
//
// A share is a part of the quota: who is how many-th of the nodes stands in the database.
// A node that cannot reach the counters says so there, and the others leave room for its
// share. A node that is dead costs nobody anything while the counters are well.
//
// The day's use is kept by the [petcat.DayStore]. Nodes lease blocks of it for the
// counters, and other blocks for what they admit by themselves ([ratelimit.Memory]). When
// the store is away as well, what is known of a day goes on and is owed.
//
// Early retries are counted on each node and summed once a second. Only refusals by a
// whole quota count. Bans are in every node's memory and travel by the change log.
//
// The rules are the pure methods of account, state and Membership, which the simulation
// in this package's tests drives through whole clusters in virtual time.
package clusterlimit
