package counters

import "time"

// Member is a node as the others know it, by the database's clock.
type Member struct {
	ID     string
	Joined time.Duration // how long ago it was first heard, or again after it was silent
	Seen   time.Duration // how long ago it was last heard
	CutOff uint64        // bit p is set: it cannot reach partition p
}
