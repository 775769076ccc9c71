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
	// Drained is true if an operator took the node out of rotation.
	Drained bool
}

// NodeStore knows which nodes run.
type NodeStore interface {
	// Beat records a node's heartbeat and returns all running nodes. n.Label is the preferred
	// label: if another node has it, the node gets it with the suffix -2, -3 and so on. A new
	// node starts with n.Drained; later beats don't change that.
	Beat(ctx context.Context, n Node) ([]Node, error)
	// Leave records that a node no longer runs.
	Leave(ctx context.Context, id string) error
	// Nodes returns the running nodes by their labels.
	Nodes(ctx context.Context) ([]Node, error)
	// DrainNode drains or resumes a node by its label, with an audit entry. The node learns
	// it with its next heartbeat.
	DrainNode(ctx context.Context, by Actor, label string, drained bool) error
}
