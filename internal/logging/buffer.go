package logging

import (
	"io"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// FlushInterval is how long a line may wait in the buffer.
	FlushInterval = 200 * time.Millisecond
	// bufferSize makes a write worth a system call: at 200 bytes a line, one
	// for 300 requests.
	bufferSize = 64 << 10
	// maxWaiting is how much may wait while a write hangs, as on a pipe that
	// nobody reads: some 5,000 lines. What comes on top is lost.
	maxWaiting = 16 * bufferSize
)

// buffer collects lines, masks keys in them, and writes them in large pieces.
type buffer struct {
	w    io.Writer
	lost atomic.Uint64

	mu     sync.Mutex
	lines  []byte // guarded by mu
	closed bool   // guarded by mu

	// writing is held during a write, so that pieces are written in order.
	writing sync.Mutex
	spare   []byte // guarded by writing
	// again tells the goroutine that writes that more lines must be written at once.
	again atomic.Bool

	timer *time.Timer
	armed bool // guarded by mu: the timer will fire
}

func newBuffer(w io.Writer) *buffer {
	b := &buffer{w: w, lines: make([]byte, 0, bufferSize), spare: make([]byte, 0, bufferSize)}
	b.timer = time.AfterFunc(time.Hour, b.flush)
	b.timer.Stop()
	return b
}

// Write takes one finished line. It does not fail: lines are lost rather than
// waited for.
func (b *buffer) Write(line []byte) (int, error) {
	b.append(func(dst []byte) []byte { return append(dst, line...) })
	return len(line), nil
}

// append lets add write one line behind the others.
func (b *buffer) append(add func(dst []byte) []byte) {
	b.mu.Lock()
	start := len(b.lines)
	if start >= maxWaiting {
		b.mu.Unlock()
		b.lost.Add(1)
		return
	}
	b.lines = add(b.lines)
	redact(b.lines[start:])
	full := len(b.lines) >= bufferSize || b.closed
	if !full && !b.armed {
		b.armed = true
		b.timer.Reset(FlushInterval)
	}
	b.mu.Unlock()
	if full {
		b.flush()
	}
}

// flush writes what waits. When somebody is writing already it is left to them:
// at most one of those who log waits for a slow disk.
func (b *buffer) flush() {
	b.again.Store(true)
	if !b.writing.TryLock() {
		return
	}
	b.again.Store(false)
	b.write()
	b.writing.Unlock()
	if b.again.Load() {
		b.timer.Reset(0) // on another goroutine: this one has waited once
	}
}

// write writes what waits. The caller holds writing.
func (b *buffer) write() {
	b.mu.Lock()
	out := b.lines
	b.lines = b.spare[:0]
	b.armed = false
	b.mu.Unlock()
	if len(out) > 0 {
		if _, err := b.w.Write(out); err != nil {
			b.lost.Add(1)
		}
	}
	b.spare = out[:0]
	if cap(b.spare) > 4*bufferSize {
		b.spare = make([]byte, 0, bufferSize) // one huge line must not stay for ever
	}
}

func (b *buffer) close() error {
	b.mu.Lock()
	b.closed = true
	b.mu.Unlock()
	b.timer.Stop()
	// Here it is waited for: the process is about to end.
	b.writing.Lock()
	defer b.writing.Unlock()
	b.write()
	return nil
}
