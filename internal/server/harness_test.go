package server

import (
	"context"
	"crypto/rand"
	"io"
	"log/slog"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/clock"
	"github.com/petcat-api/petcat/internal/config"
	"github.com/petcat-api/petcat/internal/logging"
	"github.com/petcat-api/petcat/internal/metrics"
	"github.com/petcat-api/petcat/internal/store"
)

// TestMain checks that nodes do not leak goroutines.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// metric returns the value of a series.
func metric(t *testing.T, m *metrics.Metrics, series string) float64 {
	t.Helper()
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", "/metrics", nil))
	found := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(series) + ` (\S+)$`).FindStringSubmatch(w.Body.String())
	if found == nil {
		t.Fatalf("%s is missing", series)
	}
	return must(strconv.ParseFloat(found[1], 64))
}

func (n *Node) wantMetric(t *testing.T, series string, want float64) {
	t.Helper()
	if got := metric(t, n.metrics, series); got != want {
		t.Errorf("%s is %v, want %v", series, got, want)
	}
}

// awaitMetric waits until a series reaches a value.
func (n *Node) awaitMetric(t *testing.T, series string, least float64) {
	t.Helper()
	for begin := time.Now(); ; <-time.After(2 * time.Millisecond) {
		if got := metric(t, n.metrics, series); got >= least {
			return
		} else if time.Since(begin) > 30*time.Second {
			t.Fatalf("%s is %v, want at least %v", series, got, least)
		}
	}
}

// startTestNode starts a node on new data. change can replace options. The node stops when the test
// ends.
func startTestNode(t *testing.T, change func(*Options)) *Node {
	t.Helper()
	o := testOptions(t, filepath.Join(t.TempDir(), "data"), io.Discard)
	change(&o)
	n := must(Start(t.Context(), o))
	t.Cleanup(func() {
		if err := n.Shutdown(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	return n
}

// testOptions returns the options of a node on loopback.
func testOptions(t *testing.T, data string, log io.Writer) Options {
	t.Helper()
	l := logging.New(log, slog.LevelInfo, logging.Text)
	t.Cleanup(func() { _ = l.Close() })
	return Options{
		Settings: config.Settings{
			MaxCategoriesSize: 64 << 20,
			Data:              data,
			Init:              true,
			Listen:            "127.0.0.1:0",
			AdminListen:       "127.0.0.1:0",
			Environment:       petcat.Production,
			ShutdownTimeout:   2 * time.Second,
		},
		Clock: clock.NewSystem(), Log: l, Version: "test",
	}
}

// testSockets returns closed sockets, which have addresses on loopback.
func testSockets(t *testing.T, s config.Settings) *sockets {
	t.Helper()
	l := must(listenOn(t.Context(), "listen", "127.0.0.1:0"))
	_ = l.Close()
	return &sockets{
		settings: s,
		api:      newLimitedListener(l, 1),
		admin:    newLimitedListener(l, 1),
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// newKey creates an account on the Free plan, and a key for it.
func newKey(t *testing.T, in *store.Store) (key petcat.Key, secret petcat.Secret) {
	t.Helper()
	free := must(petcat.ParseSubscription(string(petcat.Free), petcat.Quota{}, petcat.Storage{}))
	account := must(in.CreateAccount(t.Context(), petcat.By("cli:ada"), petcat.NewAccount{
		Name:         "acme",
		Subscription: free,
	})).Value
	keys := petcat.KeyGenerator{Environment: in.Environment(), Random: rand.Reader}
	n, secret, err := keys.NewKey(account.ID, petcat.KeyTerms{})
	if err != nil {
		t.Fatal(err)
	}
	return must(in.CreateKey(t.Context(), petcat.By("cli:ada"), n)).Value, secret
}
