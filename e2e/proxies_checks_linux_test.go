package e2e

import (
	"bytes"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"petcat"
	"petcat/internal/proxytest"
)

// wantCallersApart sends wrong keys from two addresses of this machine, with headers that
// claim others: the nodes count them by the addresses that they came from.
func (f *front) wantCallersApart(nodes ...*server) {
	f.t.Helper()
	claims := []string{"", "192.0.2.1", "192.0.2.2, 127.0.0.1", "192.0.2.3, 127.0.0.2", "::ffff:192.0.2.4", "192.0.2.5,::1"}
	awaitRoomInMinute(f.t, 5*time.Second)
	for _, from := range []string{"127.0.0.1", "127.0.0.2"} {
		caller := f.as(from, f.protocols[0])
		limit, least := int64(0), int64(1<<40)
		for _, claim := range claims {
			a := caller.list(wrongKey(f.t), withHeader("X-Forwarded-For", claim), withHeader("X-Forwarded-For", claim),
				withHeader("X-Real-Ip", "192.0.2.6"), withHeader("Forwarded", "for=192.0.2.7"))
			wantError(f.t, a, http.StatusUnauthorized, petcat.CodeInvalidAPIKey)
			limit, least = a.number(f.t, "X-RateLimit-Limit"), min(least, a.number(f.t, "X-RateLimit-Remaining"))
		}
		if want := limit - int64(len(claims)/len(nodes)); least != want { // each node counts for itself
			f.t.Errorf("after %d wrong keys from %s, %d of %d are left; want %d", len(claims), from, least, limit, want)
		}
	}
	log := func() string {
		var all strings.Builder
		for _, node := range nodes {
			all.WriteString(node.log.String())
		}
		return all.String()
	}
	eventually(f.t, 5*time.Second, "the nodes log the address", func() bool {
		return strings.Count(log(), `"address":"127.0.0.2"`) == len(claims)
	})
	if strings.Contains(log(), "192.0.2.") {
		f.t.Errorf("the nodes believe the clients: %.1000s", log())
	}
}

// wantAnswers expects the node's answers with all their headers, which every client of f
// checks, and the id of the request in the node's log.
func (f *front) wantAnswers(node *server, key string) {
	f.t.Helper()
	for _, protocol := range f.protocols {
		caller := f.as("127.0.0.1", protocol)
		made := caller.create(key, "dog", withHeader("X-Request-Id", "mine"))
		wantStatus(f.t, made, http.StatusCreated)
		if (made.ProtoMajor == 2) != (protocol == "h2") {
			f.t.Errorf("asked for %s, it spoke %s", protocol, made.Proto)
		}
		id := made.Header.Get("X-Request-Id")
		if id == "mine" {
			f.t.Error("the client chose the X-Request-Id")
		}
		eventually(f.t, 5*time.Second, "the node's log has the answer's X-Request-Id", func() bool {
			return strings.Contains(node.log.String(), `"request_id":"`+id+`"`)
		})
		list := caller.list(key, withHeader("Origin", webPages))
		wantStatus(f.t, list, http.StatusOK)
		if allowed := list.Header.Values("Access-Control-Allow-Origin"); !slices.Equal(allowed, []string{webPages}) {
			f.t.Errorf("Access-Control-Allow-Origin is %q", allowed)
		}
		wantStatus(f.t, caller.list(key, withHeader("If-None-Match", list.Header.Get("ETag"))), http.StatusNotModified)
		// petcat does not compress one category, and so nobody does.
		one := caller.do(http.MethodGet, fmt.Sprint("/v1/categories/", made.category(f.t).ID), "", withKey(key), withHeader("Accept-Encoding", "gzip"))
		if etag, encoding := one.Header.Get("ETag"), one.Header.Get("Content-Encoding"); !strings.HasPrefix(etag, `"`) || encoding != "" {
			f.t.Errorf("one category: ETag is %q, which is to be strong; Content-Encoding is %q", etag, encoding)
		}
		preflight := f.unchecked(protocol).do(http.MethodOptions, "/v1/categories", "",
			withHeader("Origin", webPages), withHeader("Access-Control-Request-Method", http.MethodPost))
		wantStatus(f.t, preflight, http.StatusNoContent)
		wantError(f.t, caller.do(http.MethodGet, "/v1/categories", ""), http.StatusUnauthorized, petcat.CodeMissingAPIKey)
	}
}

// wantBodies sends large bodies. Those that the node answers before it has read them are
// answered all the same.
func (f *front) wantBodies(node *server, key string) {
	f.t.Helper()
	awaitRoomInDay(f.t, 15*time.Second)
	openAccount(f.t, node.data, "spent", "enterprise", "--per-minute", "1000", "--per-day", "1")
	_, spent := issueKey(f.t, node.data, "spent")
	wantStatus(f.t, node.list(spent), http.StatusOK)
	body := func(size int) string {
		text := categoryBody(fmt.Sprint("of ", size, " bytes"))
		return text[:len(text)-1] + strings.Repeat(" ", size-len(text)) + "}"
	}
	const most = 1 << 20
	for _, protocol := range f.protocols {
		caller := f.as("127.0.0.1", protocol)
		post := func(size int, changes ...request) *answer {
			f.t.Helper()
			return caller.do(http.MethodPost, "/v1/categories", body(size), changes...)
		}
		wantStatus(f.t, post(most, withKey(key)), http.StatusCreated)
		wantError(f.t, post(most+1, withKey(key)), http.StatusRequestEntityTooLarge, petcat.CodeBodyTooLarge)
		wantError(f.t, post(most), http.StatusUnauthorized, petcat.CodeMissingAPIKey)
		wantError(f.t, post(most, withKey(spent)), http.StatusTooManyRequests, petcat.CodeDailyQuotaExceeded)
		caller = f.unchecked(protocol) // what is much too large, the proxy may refuse
		wantOwnError(f.t, post(3*most, withKey(key)), petcat.CodeBodyTooLarge, http.StatusRequestEntityTooLarge)
	}
}

// wantHeaders sends large headers, and, if the node is to refuse them, too large ones.
func (f *front) wantHeaders(key string, refused bool) {
	f.t.Helper()
	for _, protocol := range f.protocols {
		large := withHeader("A", strings.Repeat("a", 12<<10))
		wantStatus(f.t, f.as("127.0.0.1", protocol).list(key, large), http.StatusOK)
		if refused {
			wantStatus(f.t, f.unchecked(protocol).list(key, large, large), http.StatusRequestHeaderFieldsTooLarge)
		}
	}
}

// wantOwnError expects an error that the proxy made, in the shape of petcat's.
func wantOwnError(t testing.TB, a *answer, code petcat.Code, statuses ...int) {
	t.Helper()
	var e struct {
		Code    petcat.Code
		Message string
		Status  int
	}
	err := json.Unmarshal(a.body, &e)
	if err != nil || !slices.Contains(statuses, a.StatusCode) || e.Status != a.StatusCode || e.Code != code || e.Message == "" {
		t.Fatalf("%d %.300q; want %d %s", a.StatusCode, a.body, statuses, code)
	}
	if kind, cached := a.Header.Get("Content-Type"), a.Header.Get("Cache-Control"); kind != "application/json" || cached != "no-store" {
		t.Errorf("%d: Content-Type is %q, Cache-Control %q", a.StatusCode, kind, cached)
	}
	if code == petcat.CodeServiceUnavailable && a.number(t, "Retry-After") < 1 {
		t.Errorf("%d: Retry-After is %q", a.StatusCode, a.Header.Get("Retry-After"))
	}
}

// wantTLS expects TLS 1.2 and later, and, where the front answers in the clear, an error
// instead of a redirect.
func (f *front) wantTLS(answersClear bool) {
	f.t.Helper()
	wantNoOldTLS(f.t, f.listen)
	base := f.transport("127.0.0.1", "http/1.1")
	base.TLSClientConfig.MaxVersion = tls.VersionTLS12
	_, err := (&server{t: f.t, api: f.api, client: &http.Client{Transport: base}}).try(http.MethodGet, f.api+"/v1/categories", nil)
	must(f.t, err)
	if !answersClear {
		return
	}
	status, _, _ := say(f.t, &server{api: "http://" + f.clear}, "GET /v1/categories HTTP/1.1\r\nHost: "+publicName+"\r\n\r\n")
	if status != http.StatusForbidden {
		f.t.Errorf("without TLS it answers %d", status)
	}
}

// wantSameList expects that a list of more than 1 MiB comes as the node sends it.
func (f *front) wantSameList(node *server, key string) {
	f.t.Helper()
	base := &http.Transport{DisableCompression: true}
	defer base.CloseIdleConnections()
	direct := &server{t: f.t, api: node.api, client: &http.Client{Transport: base}}
	for _, protocol := range f.protocols {
		through := f.unchecked(protocol)
		for _, encoding := range []string{"identity", "gzip"} {
			want, got := direct.list(key, withHeader("Accept-Encoding", encoding)), through.list(key, withHeader("Accept-Encoding", encoding))
			wantStatus(f.t, got, http.StatusOK)
			if encoding == "identity" && len(want.body) < 1<<20 {
				f.t.Errorf("the list has %d bytes only", len(want.body))
			}
			if !bytes.Equal(got.body, want.body) {
				f.t.Errorf("%s, %s: %d bytes come as %d", protocol, encoding, len(want.body), len(got.body))
			}
			for _, name := range []string{"Content-Encoding", "Content-Type", "ETag", "Vary", "Cache-Control"} {
				if got, want := got.Header.Values(name), want.Header.Values(name); !slices.Equal(got, want) {
					f.t.Errorf("%s, %s: %s is %q, want %q", protocol, encoding, name, got, want)
				}
			}
		}
	}
}

// wantNothingTwice loses answers of the node, whose connections end. A request that changes
// nothing is sent again, and a create is not.
func (p proxyWithTLS) wantNothingTwice(t *testing.T, node *server, key string) {
	t.Helper()
	way := proxytest.New(t, node.upstream().api)
	f := p.start(t, upstream{api: way.Address(), admin: node.upstream().admin})
	caller := f.unchecked(f.protocols[0])
	// lose returns nil when there is no response.
	lose := func(method, path string, body io.Reader, carriedOut func() bool) *answer {
		t.Helper()
		wantStatus(t, f.list(key), http.StatusOK) // leaves a connection that is used again
		way.Delay(time.Minute)
		answered := make(chan *answer, 1)
		go func() {
			a, err := caller.try(method, f.api+path, body, withKey(key))
			if err != nil {
				a = nil
			}
			answered <- a
		}()
		eventually(t, 5*time.Second, "the node has carried it out", carriedOut)
		way.Drop()
		way.Heal()
		return <-answered
	}

	path := fmt.Sprint("/v1/categories/", node.mustCreate(key, "cat"))
	if a := lose(http.MethodGet, path, nil, func() bool {
		return strings.Contains(node.log.String(), `"path":"`+path+`"`)
	}); a == nil || a.StatusCode != http.StatusOK {
		t.Errorf("a request that changes nothing is answered %v", a)
	}

	created := func() (times int) {
		for _, c := range node.categories(key) {
			if c.Name == "once" {
				times++
			}
		}
		return times
	}
	a := lose(http.MethodPost, "/v1/categories", strings.NewReader(categoryBody("once")), func() bool { return created() > 0 })
	if p.silent != (a == nil) {
		t.Errorf("a create is answered %v", a)
	}
	if a != nil {
		wantOwnError(t, a, petcat.CodeServiceUnavailable, http.StatusServiceUnavailable)
	}
	if times := created(); times != 1 {
		t.Errorf("it was created %d times", times)
	}
}

// wantNodeAway kills the node and starts it again.
func (p proxyWithTLS) wantNodeAway(t *testing.T, f *front, node *server, key string) {
	t.Helper()
	caller := f.unchecked(f.protocols[0])
	node.kill()
	for _, a := range []*answer{caller.list(key), caller.create(key, "unheard")} {
		wantOwnError(t, a, petcat.CodeServiceUnavailable, http.StatusServiceUnavailable)
	}
	p.serveBehind(t, node.data, node.where()...)
	eventually(t, 5*time.Second, "requests reach the node again", func() bool {
		return caller.list(key).StatusCode == http.StatusOK
	})
	wantStatus(t, f.create(key, "heard"), http.StatusCreated)
}
