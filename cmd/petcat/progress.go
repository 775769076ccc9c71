package main

import (
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// The progress on a terminal is redrawn every drawEvery. Elsewhere a line is written every
// sayEvery.
const (
	drawEvery = 100 * time.Millisecond
	sayEvery  = 5 * time.Second
)

// progress shows on stderr how far a command is: one line on a terminal, else a line now and
// then.
type progress struct {
	to       io.Writer
	terminal bool
	done     atomic.Int64 // rows

	mu    sync.Mutex
	drawn bool // the line is on the terminal; guarded by mu
}

// startProgress begins to show what text says of the rows that are done, until it is
// stopped. If show is false, it shows only what say is told.
func (p *program) startProgress(show bool, text func(done int64, perSecond float64) string) (b *progress, stop func()) {
	b = &progress{to: p.stderr, terminal: p.isTerminal(p.stderr) && !slices.Contains(p.environ, "TERM=dumb")}
	if !show {
		return b, func() {}
	}
	every := sayEvery
	if b.terminal {
		every = drawEvery
	}
	begun, tick, stopped := p.clock.Read(), time.NewTicker(every), make(chan struct{})
	var watcher sync.WaitGroup
	watcher.Go(func() {
		for {
			select {
			case <-tick.C:
				b.show(text(b.done.Load(), perSecond(b.done.Load(), p.clock.Read().Since(begun))))
			case <-stopped:
				return
			}
		}
	})
	return b, func() {
		tick.Stop()
		close(stopped)
		watcher.Wait()
		b.mu.Lock()
		defer b.mu.Unlock()
		b.wipe()
	}
}

func perSecond(done int64, took time.Duration) float64 {
	return float64(done) / max(took, time.Millisecond).Seconds()
}

func (b *progress) show(text string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.terminal {
		_, _ = fmt.Fprintln(b.to, text)
		return
	}
	// Without automatic margins, a narrow terminal cuts the line, which could not be
	// redrawn otherwise.
	_, _ = fmt.Fprintf(b.to, "\r\x1b[?7l%s\x1b[K\x1b[?7h", text)
	b.drawn = true
}

// say writes a line on stderr, above the progress.
func (b *progress) say(line string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.wipe()
	_, _ = fmt.Fprintln(b.to, printable(line))
}

// wipe removes the progress from the terminal. The caller holds mu.
func (b *progress) wipe() {
	if b.drawn {
		_, _ = io.WriteString(b.to, "\r\x1b[K")
	}
	b.drawn = false
}
