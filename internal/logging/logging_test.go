package logging_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/logging"
)

// sink is a writer that can fail or hang.
type sink struct {
	mu   sync.Mutex
	text string        // guarded by mu
	err  error         // guarded by mu
	hang chan struct{} // if not nil, writes wait until it is closed
}

func (s *sink) Write(p []byte) (int, error) {
	if s.hang != nil {
		<-s.hang
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		s.text += string(p)
	}
	return len(p), s.err
}

func (s *sink) written() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text
}

// written returns the text that a log writes.
func written(format logging.Format, write func(*logging.Log)) string {
	var s sink
	log := logging.New(&s, slog.LevelInfo, format)
	write(log)
	_ = log.Close()
	return s.written()
}

// TestLines: each message is one line, whatever its values are, and secrets are not shown.
func TestLines(t *testing.T) {
	secret := petcat.NewSecret("hunter2")
	write := func(l *logging.Log) {
		l.Debug("hidden")
		l.With("with", "x").Error("failed",
			"error", errors.New("line\r\ntwo \x1b[31m"),
			"account", petcat.AccountID(7),
			"database", secret,
			"all", []any{secret})
	}
	const line = ` level=ERROR msg=failed with=x error="line\r\ntwo \x1b[31m" account=acct_7` +
		` database=[redacted] all=[[redacted]]` + "\n"
	if got := written(logging.Text, write); !strings.HasSuffix(got, line) {
		t.Errorf("text: %s", got)
	}
	got := written(logging.JSON, write)
	var fields map[string]any
	err := json.Unmarshal([]byte(got), &fields)
	if err != nil || strings.Contains(got, "hunter2") || strings.Contains(got, "\x1b") {
		t.Errorf("json: %v, %s", err, got)
	}
	named := written(logging.Text, func(l *logging.Log) {
		l.SetNode("web-2")
		l.With("with", "x").Error("failed")
		l.Access(&logging.Access{})
	})
	for line := range strings.Lines(named) {
		if !strings.HasSuffix(line, " node=web-2\n") {
			t.Errorf("the label is missing: %s", line)
		}
	}
	for name, want := range map[string]string{
		"msg":      "failed",
		"account":  "acct_7",
		"database": "[redacted]",
		"error":    "line\r\ntwo \x1b[31m",
	} {
		if fields[name] != want {
			t.Errorf("json: %s is %v, want %q", name, fields[name], want)
		}
	}
}

// TestFlushing: access log lines wait for the interval or a full buffer. Other lines are written
// immediately.
func TestFlushing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s sink
		log := logging.New(&s, slog.LevelInfo, logging.Text)
		wantLines := func(when string, want int) {
			t.Helper()
			synctest.Wait()
			if n := strings.Count(s.written(), "\n"); n != want {
				t.Errorf("%s: %d lines are written, want %d", when, n, want)
			}
		}
		for round := range 3 {
			log.Access(access())
			time.Sleep(logging.FlushInterval - 1)
			wantLines("before the interval", round)
			time.Sleep(time.Nanosecond)
			wantLines("after the interval", round+1)
		}
		log.Access(access())
		log.With("a", 1).Info("now")
		wantLines("after another line", 5)
		for range 1000 {
			log.Access(access())
		}
		synctest.Wait()
		if n := strings.Count(s.written(), "\n"); n < 300 {
			t.Errorf("%d lines after a full buffer", n)
		}
		_ = log.Close()
	})
}

// TestLost: if writes hang or fail, callers do not wait, memory is limited, and every line is
// written later or counted as lost.
func TestLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := sink{hang: make(chan struct{})}
		log := logging.New(&s, slog.LevelInfo, logging.Text)
		const lines = 50_000
		for i := range lines {
			if i%1_000 == 0 {
				log.Warn("urgent")
			} else {
				log.Access(&logging.Access{Path: "/v1/categories"})
			}
		}
		start := time.Now()
		_ = log.Close()
		if took := time.Since(start); took != time.Second {
			t.Errorf("Close took %s during a hanging write", took)
		}
		close(s.hang)
		synctest.Wait()
		n, lost := strings.Count(s.written(), "\n"), int(log.Lost())
		if n+lost != lines || lost == 0 || len(s.written()) > 3<<20 {
			t.Errorf("%d lines written and %d lost of %d", n, lost, lines)
		}

		before := log.Lost()
		s.err = errors.New("broken pipe")
		log.Warn("lost")
		synctest.Wait()
		s.err = nil
		log.Warn("found")
		synctest.Wait()
		text := s.written()
		if strings.Contains(text, "lost") || !strings.Contains(text, "found") || log.Lost() != before+1 {
			t.Errorf("%d lines lost", log.Lost()-before)
		}
	})
}

func access() *logging.Access {
	return &logging.Access{
		At: time.Date(2026, 3, 14, 12, 0, 18, 123_456_000, time.FixedZone(
			"east", 3600)), RequestID: "0A1B2C3D-7", Method: "POST", Path: "/v1/categories",
		Operation: "createCategory", Deprecated: true, Status: 409, Code: "category_in_use", Account: 12, Key: 34,
		Address: netip.MustParseAddr("2001:db8::7"), Duration: 1234567 * time.Nanosecond, Bytes: 99,
	}
}

func TestAccess(t *testing.T) {
	stranger := logging.Access{At: access().At, RequestID: "1-2", Method: "GET", Path: "/v1", Status: 404}
	stranger.Address = netip.MustParseAddr("192.0.2.7")
	for _, c := range []struct {
		format logging.Format
		line   *logging.Access
		want   string
	}{
		{logging.JSON, access(), `{"time":"2026-03-14T11:00:18.123456Z","level":"INFO","msg":"request",` +
			`"request_id":"0A1B2C3D-7","method":"POST","path":"/v1/categories",` +
			`"operation":"createCategory","deprecated":true,"status":409,"code":"category_in_use",` +
			`"account":"acct_12","key":"key_34","address":"2001:db8::7","duration_us":1234,"bytes":99}`},
		{logging.Text, access(), `time=2026-03-14T11:00:18.123456Z level=INFO msg=request ` +
			`request_id=0A1B2C3D-7 method=POST path=/v1/categories ` +
			`operation=createCategory deprecated=true status=409 code=category_in_use ` +
			`account=acct_12 key=key_34 address=2001:db8::7 duration_us=1234 bytes=99`},
		{logging.JSON, &stranger, `{"time":"2026-03-14T11:00:18.123456Z","level":"INFO","msg":"request",` +
			`"request_id":"1-2","method":"GET","path":"/v1","status":404,` +
			`"address":"192.0.2.7","duration_us":0,"bytes":0}`},
	} {
		if diff := cmp.Diff(c.want+"\n", written(c.format, func(l *logging.Log) { l.Access(c.line) })); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.format, diff)
		}
	}
	quiet := func(l *logging.Log) { l.SetLevel(slog.LevelWarn); l.Access(access()) }
	if got := written(logging.Text, quiet); got != "" {
		t.Errorf("at level warn: %s", got)
	}
}

// TestSanitize: strings from clients are truncated, contain only printable ASCII, and do not show a key.
func TestSanitize(t *testing.T) {
	key := "pck_live_" + strings.Repeat("Ab3", 12) + "Zz"
	for path, want := range map[string]string{
		"/v1/categories/9007199254740991": "/v1/categories/9007199254740991",
		"/" + strings.Repeat("a/", 5_000): "/" + strings.Repeat("a/", 127) + "a...",
		"/v1/" + key + "/x":               "/v1/pck_live_...",
		"/v1/" + key[9:]:                  "/v1/...",
		"/v1/%70ck_live_abc":              "/v1/...",
		"/v1/" + key[9:20] + "%41":        "/v1/" + key[9:20] + "...",
		"/v1/\",\"status\":200":           "/v1/...",
		"/v1/\\":                          "/v1/...",
		"/v1/a b":                         "/v1/a...",
		"/v1/x.\x1b]0;title\x07":          "/v1/x....",
		"/v1/\u202egnp.exe":               "/v1/...",
		"/v1/\xff":                        "/v1/...",
		"/v1/\n{}":                        "/v1/...",
	} {
		a := access()
		a.Path, a.Method = path, path
		for format, name := range map[logging.Format]string{logging.Text: ` %s=%s `, logging.JSON: `"%s":"%s"`} {
			line := written(format, func(l *logging.Log) { l.Access(a) })
			for _, field := range []string{"path", "method"} {
				if !strings.Contains(line, fmt.Sprintf(name, field, want)) || strings.Count(line, "\n") != 1 {
					t.Errorf("%q: want %s=%s in %s", path, field, want, line)
				}
			}
		}
	}
}

// TestRejectedRequestsCannotFloodTheLog: a key's rejected requests with a code, and those of all unknown
// clients, get one line per second, with the number of omitted lines.
func TestRejectedRequestsCannotFloodTheLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		l := logging.New(&out, slog.LevelInfo, logging.Text)
		lines := func() (shown []string) {
			l.Flush()
			for line := range strings.SplitSeq(strings.TrimSpace(out.String()), "\n") {
				var id, repeated string
				for field := range strings.FieldsSeq(line) {
					id += after(field, "request_id=")
					repeated += after(field, "repeated=")
				}
				shown = append(shown, strings.TrimSuffix(id+"+"+repeated, "+"))
			}
			out.Reset()
			return shown
		}
		reject := func(id string, key petcat.KeyID, code petcat.Code) {
			l.Access(&logging.Access{RequestID: id, Account: 1, Key: key, Status: 429, Code: code})
		}
		for i := range 10 {
			reject("limit"+strconv.Itoa(i), 1, petcat.CodeRateLimitExceeded)
			reject("other"+strconv.Itoa(i), 2, petcat.CodeRateLimitExceeded)
		}
		reject("ban", 1, petcat.CodeKeyBanned)
		reject("stranger", 0, petcat.CodeTooManyFailedAttempts)
		reject("another", 0, petcat.CodeTooManyFailedAttempts)
		l.Access(&logging.Access{RequestID: "good", Status: 200, Key: 1})
		l.Access(&logging.Access{RequestID: "good", Status: 200, Key: 1})
		wantLines(t, lines(), "limit0", "other0", "ban", "stranger", "good", "good")
		time.Sleep(time.Second + time.Millisecond)
		synctest.Wait()
		wantLines(t, lines(), "limit9+8", "other9+8", "another")
		reject("within", 1, petcat.CodeRateLimitExceeded)
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		wantLines(t, lines(), "within")
	})
}

// TestLinesOfTheLibraryCannotFloodTheLog: lines that begin with the same words get one line per second.
// Events that unknown clients cause are shown only at level DEBUG.
func TestLinesOfTheLibraryCannotFloodTheLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s sink
		log := logging.New(&s, slog.LevelDebug, logging.Text)
		library := log.Library()
		for i := range 100 {
			library.Printf("http: TLS handshake error from 192.0.2.%d:1024: EOF", i)
		}
		library.Print("http: Accept error: too many open files; retrying in 5ms")
		library.Print("http: panic serving 192.0.2.7:1024: a bug\ngoroutine 7 [running]")
		time.Sleep(time.Second + time.Millisecond)
		log.SetLevel(slog.LevelInfo)
		time.Sleep(time.Second + time.Millisecond)
		library.Print("http: TLS handshake error from 192.0.2.1:1024: EOF")
		_ = log.Close()
		const want = ` level=DEBUG msg="net/http reports" message="http: TLS handshake error from 192.0.2.0:1024: EOF"
 level=WARN msg="net/http reports" message="http: Accept error: too many open files; retrying in 5ms"
 level=ERROR msg="net/http reports" message="http: panic serving 192.0.2.7:1024: a bug\ngoroutine 7 [running]"
 level=DEBUG msg="net/http reports" message="http: TLS handshake error from 192.0.2.99:1024: EOF" repeated=98
`
		got := regexp.MustCompile(`(?m)^time=\S+`).ReplaceAllString(s.written(), "")
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("lines (-want +got):\n%s", diff)
		}
	})
}

// after returns the text after a prefix, "" if it is missing.
func after(text, prefix string) string {
	rest, found := strings.CutPrefix(text, prefix)
	if !found {
		return ""
	}
	return rest
}

// wantLines checks lines in any order.
func wantLines(t *testing.T, got []string, want ...string) {
	t.Helper()
	slices.Sort(got)
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
}
