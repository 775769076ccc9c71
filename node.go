package petcat

import "time"

// Node is a process that serves, as the database that the nodes share knows it.
type Node struct {
	ID     string
	Joined time.Duration // how long ago its first beat was
	Seen   time.Duration // how long ago its last beat was
}
