// Package petcat is the domain of the Pet Category Service: categories, pets, orders,
// accounts and their keys, plans with their quotas, bans, operators and their sessions, the
// audit log and the usage history.
//
// It contains only rules. Every rule that must be the same for the HTTP API, the command
// line, the console and every store is a constructor or a pure function here, so that
// nothing can bypass it:
//
//   - [ParseNewCategory] is the only way to a category that may be stored, as are
//     [ParseNewPet] to a pet and [ParseNewOrder] to an order.
//   - [GenerateKey] and [ParseKey] are the only functions that know the format of a
//     key.
//   - [Plan] and [Quota] say how many requests an account has in each [Window].
//   - [Ban] carries the ladder of durations.
//   - [Operations] is the registry of what the API offers, and how stable it is.
//   - [Error] is the only error whose text a caller may see.
//
// The interfaces of stores, which have several implementations and a conformance suite,
// are declared beside the concept that they store, such as [CategoryStore].
//
// The package imports only the standard library, without net/http and database/sql:
// it does no I/O, reads no clock and keeps no state. It depends on nothing that
// could be unavailable.
package petcat
