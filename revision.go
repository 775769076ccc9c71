package petcat

// Revision numbers the writes to a store in the order of their commits, from 1,
// without gaps that could still be filled: who has seen everything up to R and
// asks for everything after R misses nothing.
type Revision int64
