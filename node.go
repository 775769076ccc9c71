package petcat

import (
	"context"
	"time"
)

// Node is a process that serves, as the database knows it.
type Node struct {
	ID      string // random: one process
	Label   string // for people: no two running nodes have the same
	Version string // of the program
	Host    string // the name of its machine
	// AdminURL is where its machine reaches its admin listener, ConsoleURL where browsers find
	// its console, PublicURL where clients find the API; without a slash at the end.
	AdminURL, ConsoleURL, PublicURL string
	State                           string // as in /readyz
	Since                           time.Time
	// Drained says that an operator wants the node to get no requests.
	Drained bool
}

// NodeStore knows which nodes run.
type NodeStore interface {
	// Beat records that a node runs, and returns all that do. n.Label is the wished one: if
	// another node has it, the node gets it with -2, -3 and so on, until it is free. A new
	// node begins with n.Drained; later, Beat does not change that.
	Beat(ctx context.Context, n Node) ([]Node, error)
	// Leave records that a node no longer runs.
	Leave(ctx context.Context, id string) error
	// Nodes returns the running nodes by their labels.
	Nodes(ctx context.Context) ([]Node, error)
	// DrainNode says whether a node is drained, by its label, with an audit entry. The node
	// knows at its next beat.
	DrainNode(ctx context.Context, by Actor, label string, drained bool) error
}
