package groupcommit

import "sync"

// DefaultLine is the usual maximum length of a [Line]. At 40,000 writes per second these are the
// writes of a tenth of a second; more would wait too long.
const DefaultLine = 4096

// Line bounds the number of writes that wait for a database, and of the writes of one owner, which
// may fill half of the line. It is safe for concurrent use.
type Line struct {
	length int

	mu      sync.Mutex
	waiting int            // guarded by mu
	owned   map[uint64]int // guarded by mu; waiting writes by owner
	shed    uint64         // guarded by mu; writes rejected so far
}

// NewLine returns a line for at most length writes.
func NewLine(length int) *Line {
	return &Line{length: length, owned: make(map[uint64]int)}
}

// Join adds a waiting write of an owner, 0 for none, or returns [ErrFull]. The caller ends the
// wait with Leave.
func (l *Line) Join(owner uint64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.waiting >= l.length || owner != 0 && l.owned[owner] >= (l.length+1)/2 {
		l.shed++
		return ErrFull
	}
	l.waiting++
	l.owned[owner]++
	return nil
}

// Leave removes a write of an owner.
func (l *Line) Leave(owner uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waiting--
	l.owned[owner]--
	if l.owned[owner] == 0 {
		delete(l.owned, owner)
	}
}

// Waiting returns the number of waiting writes.
func (l *Line) Waiting() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.waiting
}

// Shed returns the number of writes that were rejected so far.
func (l *Line) Shed() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.shed
}
