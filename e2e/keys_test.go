package e2e

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	goclient "github.com/petcat-api/petcat/client"
)

// newLossyProxy returns the URL of a proxy that drops the first response with a new key.
func newLossyProxy(t testing.TB, behind string) string {
	t.Helper()
	to, err := url.Parse(behind)
	must(t, err)
	var lost atomic.Bool
	proxy := httptest.NewServer(&httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(to) },
		ModifyResponse: func(res *http.Response) error {
			isRotation := strings.HasSuffix(res.Request.URL.Path, "/key/rotate") && res.StatusCode == http.StatusCreated
			if isRotation && lost.CompareAndSwap(false, true) {
				return errors.New("the response is lost")
			}
			return nil
		},
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	})
	t.Cleanup(proxy.Close)
	return proxy.URL
}

// TestKeyRotation: programs rotate their keys while they send requests, and the response with each new key is
// lost once. Requests do not fail, and programs are not locked out.
func TestKeyRotation(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(t *testing.T, place string) {
		n := serve(t, place)
		var programs sync.WaitGroup
		for _, name := range []string{"zoo", "shop", "farm"} {
			old := newKey(t, place, name, unlimited...)
			programs.Go(func() { rotateUnderLoad(t, n, old) })
		}
		programs.Wait()
	})
}

// rotateUnderLoad rotates a key while another goroutine lists with the newest one.
func rotateUnderLoad(t *testing.T, n *node, old key) {
	t.Helper()
	var current atomic.Pointer[string]
	current.Store(&old.Key)
	ended := make(chan struct{})
	var load sync.WaitGroup
	load.Go(func() {
		pause := time.NewTicker(5 * time.Millisecond)
		defer pause.Stop()
		for {
			a, err := send(n.client, http.MethodGet, n.api+"/v1/categories", "", by(*current.Load()))
			if err != nil || a.StatusCode != http.StatusOK {
				t.Errorf("%s: a list failed: %v, %+v", old.ID, err, a)
			}
			select {
			case <-ended:
				return
			case <-pause.C:
			}
		}
	})
	defer load.Wait()
	defer close(ended)
	client, err := goclient.New(newLossyProxy(t, n.api), old.Key)
	if err != nil {
		t.Error(err)
		return
	}
	rotated, _, err := client.Key.Rotate(t.Context(), 0)
	if err != nil || rotated.Key == "" || rotated.Replaces != old.ID {
		t.Errorf("%s: rotated to %s, %v", old.ID, rotated.ID, err)
		return
	}
	current.Store(&rotated.Key)
	// Once the use of the new key is recorded, the old one, which still works, cannot replace it.
	client, err = goclient.New(n.api, old.Key)
	if err != nil {
		t.Error(err)
		return
	}
	if _, _, err := client.Key.Rotate(t.Context(), 0); !errors.Is(err, goclient.CodeConflict) {
		t.Errorf("%s: another rotation: %v, want %s", old.ID, err, goclient.CodeConflict)
	}
	if _, _, err := client.Key.Get(t.Context()); err != nil {
		t.Errorf("%s: the old key within the overlap: %v", old.ID, err)
	}
}

// TestKeyNetworks: a key works only in its networks, by the address from a trusted proxy, or the
// connection's address without one.
func TestKeyNetworks(t *testing.T) {
	t.Parallel()
	place := directory(t)
	newKey(t, place, "zoo", "free")
	office := petcatJSON[key](t, place, "key", "create", "zoo", "--networks", "192.0.2.0/24")
	local := petcatJSON[key](t, place, "key", "create", "zoo", "--networks", "127.0.0.0/8").Key
	try := func(n *node, secret, client string, want int) {
		t.Helper()
		if a := n.list(secret, header("X-Forwarded-For", client)); a.StatusCode != want {
			t.Errorf("from %s: %d, want %d: %s", client, a.StatusCode, want, a.body)
		}
	}
	direct := serve(t, place)
	try(direct, local, "192.0.2.7", 200)
	try(direct, office.Key, "192.0.2.7", 403) // any client can send the header
	direct.stop()
	behind := serve(t, place, "--trusted-proxies", "127.0.0.1")
	try(behind, office.Key, "192.0.2.7", 200)
	try(behind, local, "192.0.2.7", 403)
	try(behind, office.Key, "203.0.113.9", 403)
	a := behind.do(http.MethodGet, "/v1/usage", "", by(office.Key), header("X-Forwarded-For", "192.0.2.7"))
	if !strings.Contains(string(a.body), `"window":"day","limit":1000,"used":2,`) {
		t.Errorf("want 2 used requests: %s", a.body)
	}
	behind.stop()
	type rejected struct {
		Key    string
		Status int
	}
	want := rejected{office.ID, http.StatusForbidden}
	if got := petcatJSON[[]rejected](t, place, "account", "rejections", "zoo"); !slices.Contains(got, want) {
		t.Errorf("want the rejection %+v: %+v", want, got)
	}
}

// TestLeakedKeyIsDead: a finder of a leaked key disables it on all nodes, without another key.
func TestLeakedKeyIsDead(t *testing.T) {
	t.Parallel()
	place := database(t)
	leaked := newKey(t, place, "zoo", "free")
	nodes := serveAll(t, 2, place)
	for _, n := range nodes {
		n.knows(leaked)
	}
	line := "ada@ci:~$ curl -H 'Authorization: Bearer " + leaked.Key + "' https://petcat.example/v1/categories"
	if a := nodes[0].do(http.MethodPost, "/leaked-keys", `{"texts": ["`+line+`"]}`); a.StatusCode != http.StatusAccepted {
		t.Fatalf("the report got %d: %s", a.StatusCode, a.body)
	}
	if a := nodes[0].list(leaked.Key); a.StatusCode != http.StatusUnauthorized {
		t.Errorf("after the report, a list got %d: %s", a.StatusCode, a.body)
	}
	eventually(t, "the other node rejects the key", func() bool {
		a := nodes[1].list(leaked.Key)
		return a.StatusCode == http.StatusUnauthorized && strings.Contains(string(a.body), "disabled_api_key")
	})
	log := petcat(t, place, "audit", "list", "--key", leaked.ID)
	if !strings.Contains(log, " petcat ") || !strings.Contains(log, "key.report_leaked") {
		t.Errorf("the audit log is %s", log)
	}
}
