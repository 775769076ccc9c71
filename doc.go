// Package petcat is the domain of the Pet Category Service: categories, pets, orders,
// accounts and their keys, plans with their quotas, bans, operators and their sessions, the
// audit log, the usage history, events and webhooks.
//
// It contains only rules. Every rule that must be the same for the HTTP API, the command
// line, the console and every store is a constructor or a pure function here, so that
// nothing can bypass it:
//
//   - Only [ParseNewCategory], [ParseNewPet] and [ParseNewOrder] make values that may be stored.
//   - [GenerateKey] and [ParseKey] are the only functions that know the format of a
//     key.
//   - [Plan] and [Quota] define the number of requests of an account in each [Window].
//   - [Ban] has the ladder of durations.
//   - [Operations] is the registry of the API's operations and their stability.
//   - [Error] is the only error whose text a caller may see.
//
// Interfaces of stores, which have a conformance suite, are declared beside the values that they
// store, such as [CategoryStore].
//
// The package imports only the standard library, without net/http and database/sql:
// it does no I/O, reads no clock and keeps no state.
package petcat
