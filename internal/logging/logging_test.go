package logging_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"petcat"
	"petcat/internal/logging"
)

// sink is where the log goes. Each write is kept apart.
type sink struct {
	mu     sync.Mutex
	writes []string      // guarded by mu
	err    error         // guarded by mu
	hang   chan struct{} // a write waits until it is closed; nil: none does
}

func (s *sink) Write(p []byte) (int, error) {
	if s.hang != nil {
		<-s.hang
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return 0, s.err
	}
	s.writes = append(s.writes, string(p))
	return len(p), nil
}

func (s *sink) setErr(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
}

func (s *sink) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.writes, "")
}

func (s *sink) lines() []string {
	return strings.Split(strings.TrimSuffix(s.text(), "\n"), "\n")
}

func formats() []logging.Format { return []logging.Format{logging.Text, logging.JSON} }

// fields parses a line in JSON, strictly. Values are texts.
func fields(t testing.TB, line string) map[string]string {
	t.Helper()
	var raw map[string]any
	d := json.NewDecoder(strings.NewReader(line))
	d.UseNumber()
	if err := d.Decode(&raw); err != nil || d.More() {
		t.Fatalf("not one JSON object: %v: %q", err, line)
	}
	out := map[string]string{}
	for k, v := range raw {
		out[k] = fmt.Sprint(v)
	}
	return out
}

func TestLineCannotBeForged(t *testing.T) {
	for _, format := range formats() {
		var s sink
		log := logging.New(&s, slog.LevelInfo, format)
		log.With("with", "x").Error("forged\nlevel=INFO msg=fine", "error", errors.New("line\r\ntwo \x1b[31m"), "key", petcat.KeyID(2)) //nolint:sloglint // it is hostile
		log.Debug("not wanted")
		must(t, log.Close())
		lines := s.lines()
		if len(lines) != 1 || strings.ContainsAny(s.text(), "\x1b\r") {
			t.Fatalf("%s: %q", format, lines)
		}
		if format == logging.JSON {
			if got := fields(t, lines[0]); got["msg"] != "forged\nlevel=INFO msg=fine" || got["level"] != "ERROR" || got["error"] != "line\r\ntwo \x1b[31m" || got["with"] != "x" || got["key"] != "key_2" {
				t.Errorf("the line is %v", got)
			}
		}
	}
}

func TestLinesWaitForTheInterval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s sink
		log := logging.New(&s, slog.LevelInfo, logging.Text)
		for round := 1; round <= 3; round++ {
			log.Info("slow", "round", round)
			log.Access(&logging.Access{Path: "/v1"})
			time.Sleep(logging.FlushInterval - 1)
			synctest.Wait()
			if n := strings.Count(s.text(), "slow"); n != round-1 {
				t.Fatalf("%d lines before the interval has passed, want %d", n, round-1)
			}
			time.Sleep(time.Nanosecond)
			synctest.Wait()
			if n := strings.Count(s.text(), "slow"); n != round || len(s.writes) != round {
				t.Fatalf("%d lines in %d writes after the interval, want %d", n, len(s.writes), round)
			}
			time.Sleep(time.Hour)
		}
		must(t, log.Close())
	})
}

func TestWarningsAreWrittenAtOnce(t *testing.T) {
	for name, warn := range map[string]func(*logging.Log){
		"warning":      func(l *logging.Log) { l.Warn("now") },
		"error":        func(l *logging.Log) { l.Error("now") },
		"of a child":   func(l *logging.Log) { l.With("a", 1).Warn("now") },
		"in a group":   func(l *logging.Log) { l.WithGroup("g").Error("now", "a", 1) },
		"info, closed": func(l *logging.Log) { _ = l.Close(); l.Info("now") },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var s sink
				log := logging.New(&s, slog.LevelInfo, logging.Text)
				log.Info("before")
				warn(log)
				if text := s.text(); !strings.Contains(text, "before") || !strings.Contains(text, "now") {
					t.Errorf("written: %q", text)
				}
				must(t, log.Close())
			})
		})
	}
}

func TestFailingWriter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := sink{err: errors.New("no space left")}
		log := logging.New(&s, slog.LevelInfo, logging.Text)
		for i := 1; i <= 3; i++ {
			log.Warn("lost")
			if got := log.Lost(); got != uint64(i) {
				t.Errorf("%d writes lost, want %d", got, i)
			}
		}
		s.setErr(nil)
		log.Warn("found")
		must(t, log.Close())
		if text := s.text(); strings.Contains(text, "lost") || !strings.Contains(text, "found") || log.Lost() != 3 {
			t.Errorf("written %q, %d lost", text, log.Lost())
		}
	})
}

// While a write hangs, all but the one who writes go on, memory is bounded, and
// every line is either written later or counted.
func TestHangingWriter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := sink{hang: make(chan struct{})}
		log := logging.New(&s, slog.LevelInfo, logging.Text)
		const loggers, each = 10, 10_000
		var finished atomic.Int64
		for i := range loggers {
			go func() {
				for j := range each {
					if j%1_000 == 999 {
						log.Warn("w", "k", strings.Repeat("x", 50))
					} else {
						log.Access(&logging.Access{RequestID: fmt.Sprintf("%d-%d", i, j), Path: "/v1/categories"})
					}
				}
				finished.Add(1)
			}()
		}
		synctest.Wait()
		if n := finished.Load(); n < loggers-1 {
			t.Errorf("%d of %d wait for a write that hangs", loggers-n, loggers)
		}
		close(s.hang)
		synctest.Wait()
		must(t, log.Close())
		if finished.Load() != loggers {
			t.Error("one of them still waits")
		}
		written, lost := strings.Count(s.text(), "\n"), int(log.Lost())
		if written+lost != loggers*each || lost == 0 {
			t.Errorf("%d written and %d lost of %d", written, lost, loggers*each)
		}
		if n := len(s.text()); n > 3<<20 {
			t.Errorf("%d bytes were held in memory", n)
		}
	})
}

func TestConcurrentLinesStayWholeAndInOrder(t *testing.T) {
	var s sink
	log := logging.New(&s, slog.LevelInfo, logging.JSON)
	const loggers, each = 8, 1_000
	var all sync.WaitGroup
	for i := range loggers {
		all.Go(func() {
			for j := range each {
				id := fmt.Sprintf("%d-%d", i, j)
				switch j % 10 {
				case 0:
					log.Info("m", "request_id", id)
				case 1:
					log.Warn("m", "request_id", id)
				default:
					log.Access(&logging.Access{RequestID: id, Method: "GET", Path: "/v1/\n" + id})
				}
			}
		})
	}
	all.Wait()
	must(t, log.Close())
	next := [loggers]int{}
	for _, line := range s.lines() {
		var i, j int
		if _, err := fmt.Sscanf(fields(t, line)["request_id"], "%d-%d", &i, &j); err != nil || next[i] != j {
			t.Fatalf("%q comes where line %d of logger %d was next: %v", line, next[i], i, err)
		}
		next[i]++
	}
	if len(s.lines()) != loggers*each {
		t.Errorf("%d lines, want %d", len(s.lines()), loggers*each)
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
