// Package server runs one node. It wires the two listeners, one for the API and one
// for metrics and health, to the data, the limiter and the keyring.
//
// It prints nothing, reads no environment and no flag, and handles no signal: the
// command that starts it does. It contains no rule of the domain and no SQL.
//
// The admin listener responds at once: until the data is loaded, /readyz says that the node
// is starting. Connections of the API wait meanwhile. When the data cannot be
// opened, [Start] fails. When something becomes unavailable later, /readyz and the
// metrics show it, and the node continues: without the database it serves the list
// in memory, refuses creates and counts requests in memory; after 30 s it refuses every
// request.
// [Node.Run] returns with an error when a listener failed, when the embedded database can
// no longer be written safely, and when PostgreSQL does not continue what the node has read
// of it (decision 0005). What is in the store is then correct, and a restart reads it.
package server
