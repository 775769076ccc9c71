package main

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/dustin/go-humanize"

	"petcat/internal/clock"
)

const (
	barWidth = 24
	// drawEvery is how often the bar on a terminal is redrawn, sayEvery how often a line
	// is written if stderr is no terminal.
	drawEvery = 100 * time.Millisecond
	sayEvery  = 5 * time.Second
	// lookEvery is after how many rows the clock is read.
	lookEvery = 128
)

// unknownTotal is the total of rows that were not counted.
const unknownTotal = -1

// progress shows the progress of a command on stderr: a bar on a terminal, else a line now
// and then.
type progress struct {
	to       io.Writer
	silent   bool // shows no progress, only lines of say
	clock    clock.Clock
	terminal bool
	verb     string        // what was done to the rows, such as "copied"
	note     func() string // the end of the text, with its comma; nil for none
	// atLeast returns how long rows take at least, and the day of the last one if that is
	// not today; nil for no such bound.
	atLeast func(rows int64) (wait time.Duration, day string)

	mu    sync.Mutex
	total int64 // guarded by mu, like all fields below; may be unknownTotal
	done  int64
	begun clock.Reading
	shown clock.Reading
	drawn bool // the bar is on the terminal
}

func (p *program) newProgress(verb string, show bool) *progress {
	return &progress{to: p.stderr, silent: !show, verb: verb, clock: p.clock, terminal: p.isTerminal(p.stderr)}
}

// begin sets the number of rows. Call it before the first row.
func (b *progress) begin(total int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.total, b.begun = total, b.clock.Read()
	b.shown = b.begun
}

// step counts a row. Call it after each row.
func (b *progress) step() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.done++; b.done%lookEvery == 0 {
		b.show()
	}
}

// watch shows the progress even if no row is done for a long time, until it is stopped.
func (b *progress) watch() (stop func()) {
	tick, stopped := time.NewTicker(drawEvery), make(chan struct{})
	var watcher sync.WaitGroup
	watcher.Go(func() {
		for {
			select {
			case <-tick.C:
				b.mu.Lock()
				b.show()
				b.mu.Unlock()
			case <-stopped:
				return
			}
		}
	})
	return func() {
		tick.Stop()
		close(stopped)
		watcher.Wait()
	}
}

// show shows the progress, unless it was shown a moment ago. The caller holds mu.
func (b *progress) show() {
	every := sayEvery
	if b.terminal {
		every = drawEvery
	}
	now := b.clock.Read()
	if b.silent || now.Since(b.shown) < every {
		return
	}
	b.shown = now
	text := b.text(now)
	switch {
	case !b.terminal:
		_, _ = fmt.Fprintln(b.to, text)
		return
	case b.total == unknownTotal:
		_, _ = fmt.Fprintf(b.to, "\r%s\x1b[K", text)
	default:
		full := int(barWidth * min(b.done, b.total) / max(b.total, 1))
		_, _ = fmt.Fprintf(b.to, "\r[%s%s] %s\x1b[K", strings.Repeat("#", full), strings.Repeat(".", barWidth-full), text)
	}
	b.drawn = true
}

// text returns the progress, such as: 50%, 500,000 of 1,000,000 rows copied,
// 120,000/s, 4s left. The caller holds mu.
func (b *progress) text(now clock.Reading) string {
	took := max(now.Since(b.begun), time.Millisecond)
	rate := float64(b.done) / took.Seconds()
	text := fmt.Sprintf("%s %s, %s/s", counted(b.done, "row", "rows"), b.verb, humanize.Comma(int64(rate)))
	if b.total != unknownTotal {
		text = fmt.Sprintf("%3d%%, %s of %s rows %s, %s/s, %s", 100*min(b.done, b.total)/max(b.total, 1),
			humanize.Comma(b.done), humanize.Comma(b.total), b.verb, humanize.Comma(int64(rate)), b.left(rate))
	}
	if b.note != nil {
		text += b.note()
	}
	return text
}

// left returns how long the remaining rows take, or the day of the last one. The caller holds
// mu.
func (b *progress) left(rate float64) string {
	rows := max(b.total-b.done, 0)
	wait, day := time.Duration(0), ""
	if b.atLeast != nil {
		wait, day = b.atLeast(rows)
	}
	switch {
	case day != "":
		return "finished on " + day
	case rate == 0:
		return "? left"
	default:
		return max(wait, time.Duration(float64(rows)/rate*float64(time.Second))).Round(time.Second).String() + " left"
	}
}

// say writes a line on stderr, above the bar.
func (b *progress) say(line string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.wipe()
	_, _ = fmt.Fprintln(b.to, printable(line))
}

// end removes the bar. The command prints its own result.
func (b *progress) end() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.wipe()
}

// wipe removes the bar from the terminal. The caller holds mu.
func (b *progress) wipe() {
	if b.drawn {
		_, _ = io.WriteString(b.to, "\r\x1b[K")
	}
	b.drawn = false
}
