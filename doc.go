// Package petcat is the domain of the Pet Category Service: categories, pets, orders,
// accounts and their keys, plans with their quotas, bans, operators and their sessions, the
// audit log, the usage history, events and webhooks.
//
// It contains only rules. Every rule that must be the same for the HTTP API, the command
// line, the console and every store is a constructor or a pure function here, so that it cannot be
// bypassed:
//
//   - Only [ParseNewCategory], [ParseNewPet] and [ParseNewOrder] make values that may be stored.
//   - [GenerateKey] and [ParseKey] are the only functions that know the format of a
//     key.
//   - [Plan] and [Quota] define the number of requests of an account in each [Window].
//   - [Ban] has the ladder of durations.
//   - [Operations] is the registry of the API's operations and their stability.
//   - [Error] is the only error whose text a client may see.
//
// Store interfaces, which have a conformance suite, are declared next to the values that they store,
// such as [CategoryStore].
//
// The package imports only the standard library, without net/http and database/sql:
// it does not do I/O, read the clock or keep state.
package petcat
