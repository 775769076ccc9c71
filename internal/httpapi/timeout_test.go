package httpapi_test

import (
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"petcat"
)

// A body that does not arrive in time is answered 408, over each protocol.
func TestSlowBody(t *testing.T) {
	t.Parallel()
	p := newInProcess(t)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		must(t, http.NewResponseController(w).SetReadDeadline(time.Unix(1, 0))) // the time is over
		p.handler.ServeHTTP(w, r)
	}))
	server.EnableHTTP2 = true
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	t.Cleanup(server.Close)
	for _, protocol := range []string{"http/1.1", "h2"} {
		t.Run("408 over "+protocol, func(t *testing.T) {
			t.Parallel()
			config := server.Client().Transport.(*http.Transport).TLSClientConfig.Clone()
			config.NextProtos = []string{protocol}
			transport := &http.Transport{TLSClientConfig: config, ForceAttemptHTTP2: protocol == "h2"}
			t.Cleanup(transport.CloseIdleConnections)
			body, more := io.Pipe()
			t.Cleanup(func() { _ = more.Close() })
			go func() { _, _ = io.WriteString(more, `{"name":`) }()
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+"/v1/categories", body)
			must(t, err)
			r.Header.Set("Authorization", "Bearer "+p.key.Secret.Reveal())
			res, err := (&http.Client{Transport: transport}).Do(r)
			must(t, err)
			defer res.Body.Close()
			text, err := io.ReadAll(res.Body)
			must(t, err)
			if (res.ProtoMajor == 2) != (protocol == "h2") {
				t.Errorf("it spoke %s", res.Proto)
			}
			if res.ProtoMajor == 1 && !res.Close {
				t.Error("the connection is to be used again, half-way through a request")
			}
			wantError(t, &answer{Response: res, body: text}, http.StatusRequestTimeout, petcat.CodeRequestTimeout)
		})
	}
}

// late is a body that arrives only after a time.
type late struct {
	io.Reader
	arrives func()
}

func (l *late) Read(p []byte) (int, error) {
	l.arrives()
	l.arrives = func() {}
	return l.Reader.Read(p)
}

// What an answer tells of time is true when it is sent, not when its request
// came. The requests come 18 s into a minute.
func TestHeadersAfterASlowBody(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name              string
		after             time.Duration
		remaining, reset  int64
		date, state, body string
		status            int
	}{
		{"at once", 0, 59, 42, "12:00:18", `"minute";r=59;t=42, "day";r=999;t=43182`, `{"name":"dog"}`, 201},
		{"in the same minute", 6 * time.Second, 59, 42, "12:00:24", `"minute";r=59;t=36, "day";r=999;t=43176`, `{"name":"dog"}`, 201},
		{"in the next minute", 45 * time.Second, 60, 102, "12:01:03", `"minute";r=60;t=57, "day";r=999;t=43137`, `{"name":"dog"}`, 201},
		{"refused in the next minute", 45 * time.Second, 60, 102, "12:01:03", `"minute";r=60;t=57, "day";r=999;t=43137`, `{}`, 400},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := newInProcess(t)
			r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/categories",
				&late{strings.NewReader(c.body), func() { p.clock.Advance(c.after) }})
			r.Header.Set("Authorization", "Bearer "+p.key.Secret.Reveal())
			w := httptest.NewRecorder()
			p.handler.ServeHTTP(w, r)
			told := func(name string) string { return strings.Join(w.Header()[name], ",") }
			got := [...]any{
				w.Code, told("X-RateLimit-Remaining"), told("X-RateLimit-Reset"), told("RateLimit"), told("Date"),
			}
			want := [...]any{
				c.status, strconv.FormatInt(c.remaining, 10), strconv.FormatInt(noon.Unix()+c.reset, 10),
				c.state, "Sat, 14 Mar 2026 " + c.date + " GMT",
			}
			if got != want {
				t.Errorf("told %v, want %v", got, want)
			}
		})
	}
}
