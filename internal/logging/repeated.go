package logging

import (
	"sync"
	"time"

	"github.com/petcat-api/petcat"
)

// repeatedInterval is the time between two lines of a group.
const repeatedInterval = time.Second

// rejectedGroup is a key, 0 for all unknown clients, and the code of its responses.
type rejectedGroup struct {
	key  petcat.KeyID
	code petcat.Code
}

// repeated bounds the lines that clients cause. It writes a group's first line at once, and then the last
// one of each interval, with the number of omitted lines.
type repeated[G comparable, L any] struct {
	write func(line *L, others int64)

	mu     sync.Mutex
	groups map[G]*waiting[L]
}

// waiting are the lines of a group since its last written one.
type waiting[L any] struct {
	count int64
	last  L
	timer *time.Timer // ends the interval
}

func newRepeated[G comparable, L any](write func(line *L, others int64)) *repeated[G, L] {
	return &repeated[G, L]{write: write, groups: make(map[G]*waiting[L])}
}

// add writes a line, or counts it.
func (r *repeated[G, L]) add(group G, line *L) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if w := r.groups[group]; w != nil {
		w.count++
		w.last = *line
		return
	}
	r.groups[group] = &waiting[L]{timer: time.AfterFunc(repeatedInterval, func() { r.end(group) })}
	r.write(line, 0)
}

// end ends an interval of a group.
func (r *repeated[G, L]) end(group G) {
	r.mu.Lock()
	defer r.mu.Unlock()
	w := r.groups[group]
	if w == nil { // closed
		return
	}
	if w.count == 0 {
		delete(r.groups, group)
		return
	}
	r.flush(w)
	w.timer.Reset(repeatedInterval)
}

// flush writes the last of the waiting lines, if there are any.
func (r *repeated[G, L]) flush(w *waiting[L]) {
	if w.count > 0 {
		r.write(&w.last, w.count-1)
		w.count = 0
	}
}

// close writes what waits.
func (r *repeated[G, L]) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for group, w := range r.groups {
		w.timer.Stop()
		r.flush(w)
		delete(r.groups, group)
	}
}
