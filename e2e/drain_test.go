package e2e

import (
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"petcat"
	"petcat/internal/stalltest"
)

// slow is a create whose body is under way: the server waits for the rest.
type slow struct {
	rest   *io.PipeWriter
	answer chan *answer // nil when it was cut off
}

// beginSlowCreate returns when the server is reading the body.
func beginSlowCreate(t *testing.T, s *server, key, name string) *slow {
	t.Helper()
	body, rest := io.Pipe()
	reading := make(chan struct{})
	trace := &httptrace.ClientTrace{Got100Continue: func() { close(reading) }}
	begun := &slow{rest: rest, answer: make(chan *answer, 1)}
	go func() {
		a, err := s.try(http.MethodPost, s.api+"/v1/categories", body, withKey(key),
			// The server says 100 when the handler reads the body, not before.
			withHeader("Expect", "100-continue"),
			func(r *http.Request) { *r = *r.WithContext(httptrace.WithClientTrace(r.Context(), trace)) })
		if err != nil {
			a = nil
		}
		begun.answer <- a
	}()
	select {
	case <-reading:
	case <-time.After(10 * time.Second):
		t.Fatal("the server does not read the body")
	}
	_, err := io.WriteString(rest, `{"name":"`+name)
	must(t, err)
	t.Cleanup(func() { _ = rest.Close() })
	return begun
}

// finish sends the rest of the body.
func (b *slow) finish(t *testing.T) *answer {
	t.Helper()
	_, err := io.WriteString(b.rest, `"}`)
	must(t, err)
	must(t, b.rest.Close())
	return <-b.answer
}

// abandon returns what the server answered to the part of the body that it got,
// nil when it hung up. The client's writer has to end before its reader does.
func (b *slow) abandon() *answer {
	_ = b.rest.CloseWithError(io.ErrUnexpectedEOF)
	return <-b.answer
}

func TestDrainFinishesWhatIsInFlight(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	s := serve(t, data, "--shutdown-timeout", "10s")
	key := newCaller(t, data)
	s.mustCreate(key, "dog")
	inFlight := beginSlowCreate(t, s, key, "cat")

	s.signal(syscall.SIGTERM)
	eventually(t, 2*time.Second, "it is not ready any more", func() bool {
		status, body := s.ask("/readyz")
		return status == http.StatusServiceUnavailable && strings.Contains(body, "draining")
	})
	// For a beat it still answers those whom their proxy has not told yet.
	wantStatus(t, s.list(key), http.StatusOK)
	s.client.CloseIdleConnections()
	eventually(t, 5*time.Second, "new connections are refused", func() bool {
		conn, err := net.Dial("tcp", strings.TrimPrefix(s.api, "http://"))
		if err != nil {
			return true
		}
		must(t, conn.Close())
		return false
	})
	if status, _ := s.ask("/livez"); status != http.StatusOK {
		t.Errorf("/livez answers %d while requests are in flight", status)
	}
	a := inFlight.finish(t)
	if a == nil {
		t.Fatal("the request in flight was cut off")
	}
	wantStatus(t, a, http.StatusCreated)
	if code := s.wait(5 * time.Second); code != exitDone {
		t.Errorf("it ended with %d: %q", code, s.log.sentences())
	}

	again := serve(t, data)
	if got := again.categories(key); len(got) != 2 || got[1] != (category{a.category(t).ID, "cat"}) {
		t.Errorf("after the start it has %v", got)
	}
}

func TestDrainEndsAtOnceOnASecondSignal(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	s := serve(t, data, "--shutdown-timeout", "1m")
	key := newCaller(t, data)
	id := s.mustCreate(key, "dog")
	inFlight := beginSlowCreate(t, s, key, "cat")
	s.signal(syscall.SIGTERM)
	eventually(t, 2*time.Second, "it is stopping", func() bool {
		status, _ := s.ask("/readyz")
		return status == http.StatusServiceUnavailable
	})
	s.signal(syscall.SIGTERM)
	if code := s.wait(2 * time.Second); code == exitDone {
		t.Error("it ended as if everything was finished")
	}
	if a := inFlight.abandon(); a != nil {
		t.Errorf("the request in flight was answered with %d", a.StatusCode)
	}
	again := serve(t, data)
	if got := again.categories(key); len(got) != 1 || got[0].ID != id {
		t.Errorf("after the start it has %v", got)
	}
}

// A request that we have not finished is cut off, and that is a failure.
func TestDrainCutsOffWhatTakesTooLong(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	s := serve(t, data, "--shutdown-timeout", "500ms")
	key := newCaller(t, data)
	s.mustCreate(key, "dog")
	release := lockData(t, data)
	cut := make(chan *answer, 1)
	go func() {
		a, err := s.try(http.MethodPost, s.api+"/v1/categories", strings.NewReader(categoryBody("cat")), withKey(key))
		if err != nil {
			a = nil
		}
		cut <- a
	}()
	lapse(300 * time.Millisecond) // until it waits for the database
	s.signal(syscall.SIGTERM)
	a := <-cut
	if a != nil && a.StatusCode < http.StatusBadRequest {
		t.Errorf("the request in flight was answered with %d", a.StatusCode)
	}
	lapse(200 * time.Millisecond) // until it has given up waiting
	release()
	if code := s.wait(8 * time.Second); code != exitFailed {
		t.Errorf("it ended with %d", code)
	}
	wantOneSentence(t, s.log.sentences(), "--shutdown-timeout")
	again := serve(t, data)
	if got := again.categories(key); len(got) == 0 || got[0].Name != "dog" {
		t.Errorf("after the start it has %v", got)
	}
}

// A request that waits for its own client is not: who does not send the body gets
// an answer, and the end is in time and a good one.
func TestDrainAnswersWhoDoesNotSend(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	key := newCaller(t, data)
	stalltest.Start(t).InTime("the end", time.Second, func() (took time.Duration) {
		s := serve(t, data, "--shutdown-timeout", "1s")
		inFlight := beginSlowCreate(t, s, key, "cat")
		begin := time.Now()
		s.signal(syscall.SIGTERM)
		if code := s.wait(5 * time.Second); code != exitDone {
			t.Errorf("it ended with %d: %q", code, s.log.sentences())
		}
		took = time.Since(begin)
		a := inFlight.abandon()
		if a == nil {
			t.Fatal("the request in flight got no answer")
		}
		if a.StatusCode != http.StatusBadRequest && a.StatusCode != http.StatusRequestTimeout {
			t.Errorf("the request in flight was answered with %d", a.StatusCode)
		}
		return took
	})
	again := serve(t, data)
	if got := again.categories(key); len(got) != 0 {
		t.Errorf("after the start it has %v", got)
	}
}

// What is idle holds nothing up.
func TestDrainDoesNotWaitForIdleConnections(t *testing.T) {
	stalltest.Start(t).InTime("the end", quickEnd, func() time.Duration {
		s := serve(t, filepath.Join(t.TempDir(), "data"), "--shutdown-timeout", "10s")
		wantError(t, s.do(http.MethodGet, "/v1/categories", ""), http.StatusUnauthorized, petcat.CodeMissingAPIKey)
		begin := time.Now()
		s.mustStop()
		return time.Since(begin)
	})
}

// quickEnd is how soon a server ends that has no request in flight: for a second it goes
// on to accept connections.
const quickEnd = 2 * time.Second

// Nor does a connection on which nothing was ever said, as browsers and proxies
// open them ahead.
func TestDrainDoesNotWaitForUnusedConnections(t *testing.T) {
	stalltest.Start(t).InTime("the end", quickEnd, func() time.Duration {
		s := serve(t, filepath.Join(t.TempDir(), "data"), "--shutdown-timeout", "3s")
		for _, url := range []string{s.api, s.admin} {
			conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
			must(t, err)
			defer conn.Close()
		}
		// It has been accepted when a later one has been answered.
		wantStatus(t, s.do(http.MethodGet, "/openapi.json", ""), http.StatusOK)
		begin := time.Now()
		s.mustStop()
		return time.Since(begin)
	})
}
