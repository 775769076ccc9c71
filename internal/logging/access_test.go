package logging_test

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"petcat/internal/logging"
)

func accessLine() *logging.Access {
	return &logging.Access{
		At: time.Date(2026, 3, 14, 12, 0, 18, 123_456_789, time.UTC), RequestID: "0A1B2C3D-7", Method: "POST", Path: "/v1/categories",
		Operation: "createCategory", Status: 429, Code: "rate_limit_exceeded", Account: 12, Key: 34,
		Address: "192.0.2.7", Duration: 1234567 * time.Nanosecond, Bytes: 99,
	}
}

// written returns what the log writes of a request.
func written(t testing.TB, format logging.Format, a *logging.Access) string {
	t.Helper()
	var s sink
	log := logging.New(&s, slog.LevelInfo, format)
	log.Access(a)
	must(t, log.Close())
	return s.text()
}

func TestAccess(t *testing.T) {
	stranger := accessLine()
	stranger.Operation, stranger.Code, stranger.Account, stranger.Key, stranger.Status = "", "", 0, 0, 200
	stranger.At = stranger.At.Truncate(10 * time.Millisecond).In(time.FixedZone("east", 3600))
	for _, c := range []struct {
		name   string
		format logging.Format
		line   *logging.Access
		want   string
	}{
		{"json", logging.JSON, accessLine(), `{"time":"2026-03-14T12:00:18.123456Z","level":"INFO","msg":"request","request_id":"0A1B2C3D-7",` +
			`"method":"POST","path":"/v1/categories","operation":"createCategory","status":429,"code":"rate_limit_exceeded",` +
			`"account":"acct_12","key":"key_34","address":"192.0.2.7","duration_us":1234,"bytes":99}`},
		{"json, nobody", logging.JSON, stranger, `{"time":"2026-03-14T12:00:18.120000Z","level":"INFO","msg":"request","request_id":"0A1B2C3D-7",` +
			`"method":"POST","path":"/v1/categories","status":200,"address":"192.0.2.7","duration_us":1234,"bytes":99}`},
		{"text", logging.Text, accessLine(), `time=2026-03-14T12:00:18.123456Z level=INFO msg=request request_id=0A1B2C3D-7 method="POST" path="/v1/categories" ` +
			`operation=createCategory status=429 code=rate_limit_exceeded account=acct_12 key=key_34 address="192.0.2.7" duration_us=1234 bytes=99`},
		{"text, nobody", logging.Text, stranger, `time=2026-03-14T12:00:18.120000Z level=INFO msg=request request_id=0A1B2C3D-7 method="POST" path="/v1/categories" ` +
			`status=200 address="192.0.2.7" duration_us=1234 bytes=99`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want+"\n", written(t, c.format, c.line)); diff != "" {
				t.Errorf("line (-want +got)\n%s", diff)
			}
		})
	}
}

// A caller decides neither how much the log takes of a request, nor whether a key
// is seen in it.
func TestWhatIsSentIsBounded(t *testing.T) {
	key := "pck_live_" + strings.Repeat("Ab3", 12) + "Zz"
	for _, c := range []struct{ name, method, path, wantMethod, wantPath string }{
		{"short", "GET", "/v1/categories/9007199254740991", "GET", "/v1/categories/9007199254740991"},
		{"long", strings.Repeat("M-", 5_000), "/" + strings.Repeat("a/", 5_000), strings.Repeat("M-", 16) + "...", "/" + strings.Repeat("a/", 127) + "a..."},
		{"escaped", "GET", strings.Repeat("\xff", 15_000), "GET", strings.Repeat(`\xff`, 51) + "..."},
		{"escaped runes", "GET", strings.Repeat("🐱", 5_000), "GET", strings.Repeat(`\U0001f431`, 23) + "..."},
		{"an escape that does not fit", "GET", strings.Repeat("a.", 127) + "\xff/", "GET", strings.Repeat("a.", 127) + "..."},
		{"a key", "GET", "/" + key, "GET", "/pck_live_****"},
		{"a key without its prefix", key[9:], "/v1/" + key[9:] + "/x", "****", "/v1/****/x"},
		{"the letters of a key far back", "GET", "/" + strings.Repeat("a/", 100) + key[9:], "GET", "/" + strings.Repeat("a/", 100) + "****"},
		{"what is still escaped", "%70ck_live_x", "/v1/%70ck_live_abc", "...", "/v1/..."},
		{"a key that is escaped within", "GET", "/v1/pck_live_ab%63defghij", "GET", "/v1/pck_live_**..."},
		{"a key that is escaped behind half of it", "GET", "/v1/" + key[9:20] + "%41" + key[21:], "GET", "/v1/" + key[9:20] + "..."},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := accessLine()
			a.Method, a.Path = c.method, c.path
			line := written(t, logging.JSON, a)
			if got := fields(t, line); got["method"] != c.wantMethod || got["path"] != c.wantPath || len(line) > 600 {
				t.Errorf("%d bytes, method %q, path %q", len(line), got["method"], got["path"])
			}
		})
	}
}

// FuzzAccess: whatever a caller sends as method, path or address, its request is one line of
// printable ASCII; as JSON, with the same fields as any other.
func FuzzAccess(f *testing.F) {
	f.Add("GET", "/v1/categories", "192.0.2.7")
	for _, text := range []string{
		"/\n" + `{"time":"x","level":"INFO","msg":"request","path":"/forged"}`, "/\rtime=x level=INFO", `/" status=200 path="/`, `/","status":200,"x":"`, `/\" status=200`, `/\`,
		"/\x1b]0;title\x07", "/\u009b31m", "/\xff\xfe\xc0\x80", "/\xf0\x9f", "/\x00\x7f", "/\u2028\u2029\u0085", "/\u202egnp.exe", `/\u000a\n\x0a`, "/pck_live_0123456789\n", "pck_", "",
	} {
		f.Add(text, text, text)
	}
	f.Fuzz(func(t *testing.T, method, path, address string) {
		a := accessLine()
		a.Method, a.Path, a.Address = method, path, address
		for _, format := range formats() {
			line, ended := strings.CutSuffix(written(t, format, a), "\n")
			if i := strings.IndexFunc(line, func(r rune) bool { return r < ' ' || r > '~' }); i >= 0 || !ended {
				t.Fatalf("the line is %q", line)
			}
			if format != logging.JSON {
				continue
			}
			got, want := fields(t, line), fields(t, strings.TrimSuffix(written(t, format, accessLine()), "\n"))
			for _, name := range []string{"method", "path", "address"} {
				delete(got, name)
				delete(want, name)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("the other fields (-want +got)\n%s", diff)
			}
		}
	})
}
