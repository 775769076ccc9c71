package logging

import (
	"sync"
	"time"

	"github.com/petcat-api/petcat"
)

// rejectedInterval is the time between two lines about rejected requests of one key.
const rejectedInterval = time.Second

// rejected bounds the lines about rejected requests. Of each key and code, it logs the first request at
// once, and then the last one of each interval, with the number of the others.
type rejected struct {
	mu     sync.Mutex
	groups map[rejectedGroup]*waiting
}

// rejectedGroup is a key, 0 for all strangers, and the code of its responses.
type rejectedGroup struct {
	key  petcat.KeyID
	code petcat.Code
}

// waiting are the requests of a group since its last line.
type waiting struct {
	count int64
	last  Access
	timer *time.Timer // ends the interval
}

func newRejected() *rejected { return &rejected{groups: make(map[rejectedGroup]*waiting)} }

// add logs a request, or counts it.
func (r *rejected) add(a *Access, log func(*Access)) {
	group := rejectedGroup{a.Key, a.Code}
	r.mu.Lock()
	defer r.mu.Unlock()
	if w := r.groups[group]; w != nil {
		w.count++
		w.last = *a
		return
	}
	r.groups[group] = &waiting{timer: time.AfterFunc(rejectedInterval, func() { r.end(group, log) })}
	log(a)
}

// end ends an interval of a group.
func (r *rejected) end(group rejectedGroup, log func(*Access)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	w := r.groups[group]
	if w == nil { // closed
		return
	}
	if !w.flush(log) {
		delete(r.groups, group)
		return
	}
	w.timer.Reset(rejectedInterval)
}

// flush logs the waiting requests, and reports whether there were any.
func (w *waiting) flush(log func(*Access)) bool {
	if w.count == 0 {
		return false
	}
	w.last.Repeated = w.count - 1
	log(&w.last)
	w.count = 0
	return true
}

// close logs all waiting requests.
func (r *rejected) close(log func(*Access)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for group, w := range r.groups {
		w.timer.Stop()
		w.flush(log)
		delete(r.groups, group)
	}
}
