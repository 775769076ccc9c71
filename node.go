package petcat

import (
	"context"
	"time"
)

// Node is a running server process.
type Node struct {
	ID      string // random, one for each process
	Label   string // for people; unique among the running nodes
	Version string // of the program
	Host    string // the machine's name
	// URLs without a trailing slash: of the admin listener from its own machine, of the
	// console for browsers, and of the API for clients.
	AdminURL, ConsoleURL, PublicURL string
	State                           string // as in /readyz
	Since                           time.Time
	// Drained is true if an operator took the node out of rotation.
	Drained bool
}

// NodeStore keeps the running nodes.
type NodeStore interface {
	// Heartbeat records a node's heartbeat and returns all running nodes. n.Label is the preferred
	// label: if another node has it, the node gets it with the suffix -2, -3 and so on. A new
	// node starts with n.Drained; later heartbeats do not change that.
	Heartbeat(ctx context.Context, n Node) ([]Node, error)
	// RemoveNode records that a node no longer runs.
	RemoveNode(ctx context.Context, id string) error
	// Nodes returns the running nodes by their labels.
	Nodes(ctx context.Context) ([]Node, error)
	// DrainNode drains or resumes a node by its label, with an audit entry. It takes effect
	// with the node's next heartbeat. It returns an [Error] with [CodeNotFound] if no node with
	// the label is running.
	DrainNode(ctx context.Context, by Author, label string, drained bool) (Result[Node], error)
}
