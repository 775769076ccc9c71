// Package redislimit is the [ratelimit.Limiter] of several nodes: they count
// together on a Redis or Valkey server, alone, under Sentinel or in a cluster.
//
// A decision is one script and one round trip, which requests that come in
// together share, except in a cluster, where their accounts are in different
// slots. The script charges both windows or neither, by the server's clock, and
// returns facts; what the caller is told is worked out from them by the functions
// of package ratelimit, so that the answers are those of a single node. All keys
// of an account are in one hash slot, and every key expires. No charge is ever
// sent again after its answer was lost, because that could charge twice; what is
// sent again has a name by which the server knows it.
//
// # The day
//
// A day's count is the [petcat.DayStore]'s. A block of it, a two-hundredth of
// the quota, is leased by one node at a time and spent by all through the
// server. A server that is flushed, or fails over to a replica that lags,
// loses at most what is left of the block: an account may get a hundredth less
// than its day, never more than that too much. A call of the store that was not
// answered is made again by its number, as in package ratelimit.
//
// # When the server is away
//
// A request that has waited for 50 ms is given up, whether for the answer, to be
// sent, or for the server to be told of a block of the day, and is decided by this
// node alone: by a [ratelimit.Memory] that admits this node's share of the minute,
// the quota divided by the nodes that are live, and leases its days from the same
// store. Pauses of this process do not count as waiting. Nothing more is sent then
// but what this node admitted alone, and beats, until one is answered; when none is
// for about a tenth of a second, this node counts alone. In the minute of the
// switch the share is cut from what the server last said was left, so that an
// account that was active on this node gets no more than its limit. What a node
// admitted alone is added to the server's count once it answers again, and then
// the server decides again, for a second within the node's share, because others
// may not have told yet.
//
// Nodes that the server does not hear from count alone. The others leave their
// shares of the minute to them.
//
// When the day store is away too, see package ratelimit: what is known goes on,
// and is owed to the store. What this node does not know of a day it takes from
// what the server told last, within ten minutes. Only accounts that are new to the node
// then get an error.
//
// # Bans
//
// The server keeps the early retries and the last ban of each key. A ban that
// is imposed or applied is also kept in this node's memory, and goes along with
// each of its key's requests: a server that was emptied learns it anew.
package redislimit
