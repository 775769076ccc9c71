// Package petcat is the domain of the Pet Category Service: categories, the
// accounts and keys that may reach them, the plans that say how often, and the
// bans for those who will not listen.
//
// It holds rules, not machinery. Every rule that must be the same for the HTTP
// API and the command line, and for every store, lives in a constructor or a pure
// function here, so that nothing can go round it:
//
//   - [ParseNewCategory] is the only way to a category that may be stored.
//   - [GenerateKey] and [ParseKey] are the only places that know a key's format.
//   - [Plan] and [Quota] say what an account may spend in each [Window].
//   - [Ban] carries the ladder of durations.
//   - [Operations] is the registry of what the API offers, and how stable it is.
//   - [Error] is what may be told to a caller; everything else stays inside.
//
// Interfaces with several implementations and a conformance suite
// ([CategoryStore], [AccountStore], [KeyStore], [BanStore], [DayStore],
// [AccessStore]) are declared beside the concept that they store.
//
// The package imports the standard library alone, and of it neither net/http
// nor database/sql: it does no input or output, reads no clock and keeps no
// state. It cannot fail because something else is away.
package petcat
