//go:build long

package e2e

import (
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/petcat-api/petcat/internal/pgtest"
)

// series is a series of measurements of a node.
type series struct {
	name    string
	slack   float64 // allowed growth
	read    func() float64
	samples []float64
}

// grew reports whether the last values exceed the first ones by more than a quarter plus the slack. It
// compares medians, without the first quarter (warm-up).
func (s *series) grew() (first, last float64, grew bool) {
	warm := s.samples[len(s.samples)/4:]
	median := func(part []float64) float64 {
		sorted := slices.Sorted(slices.Values(part))
		return sorted[len(sorted)/2]
	}
	first, last = median(warm[:len(warm)/2]), median(warm[len(warm)/2:])
	return first, last, last > first*1.25+s.slack
}

// TestSoak uses a cluster and a single node for PETCAT_HOURS, while the cluster's database and one of its
// nodes fail. Only the data grows, and scheduled backups are made to the end.
func TestSoak(t *testing.T) {
	postgres := pgtest.New(t)
	t.Cleanup(postgres.Resume)
	shared, alone, backups := postgres.Database(t), directory(t), filepath.Join(t.TempDir(), "backups")
	flags := []string{"--backup-every", "1m", "--backup-keep", "3"}
	keys := map[string]key{
		shared: newKey(t, shared, "acme", unlimited...),
		alone:  newKey(t, alone, "acme", unlimited...),
	}
	small := map[string]key{shared: newKey(t, shared, "small", "free"), alone: newKey(t, alone, "small", "free")}
	single := serve(t, alone, append(flags, "--backup-dir", backups)...)
	nodes := serveAll(t, 2, shared)

	stop := make(chan struct{})
	var users sync.WaitGroup
	var mu sync.Mutex // guards victim
	victim := nodes[1]
	failing := func() *node {
		mu.Lock()
		defer mu.Unlock()
		return victim
	}
	for user := range 6 {
		client := newClient(t, &http.Transport{MaxIdleConnsPerHost: 10})
		setOutage(t, true, client) // at any time
		users.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				case <-time.After(5 * time.Millisecond):
				}
				n := []*node{single, nodes[0], failing()}[(user+i)%3]
				use(t, client, n, keys[n.place], small[n.place], fmt.Sprintf("user-%d-%d", user, i))
			}
		})
	}

	var all []*series
	for name, n := range map[string]*node{"single": single, "cluster": nodes[0]} {
		for metric, slack := range map[string]float64{
			"process_resident_memory_bytes": 16 << 20,
			"process_open_fds":              10,
			"go_goroutines":                 20,
		} {
			read := func() float64 { return n.metric(metric) }
			all = append(all, &series{name: name + " " + metric, slack: slack, read: read})
		}
	}
	wal := func() float64 { return single.metric("petcat_store_wal_bytes") }
	all = append(all, &series{name: "single petcat_store_wal_bytes", slack: 4 << 20, read: wal})
	random := seeded(t)
	end := time.Now().Add(time.Duration(envNumber(t, "PETCAT_HOURS", 0.5) * float64(time.Hour)))
	for time.Now().Before(end) && !t.Failed() {
		for range 5 {
			<-time.After(time.Second)
			for _, s := range all {
				s.samples = append(s.samples, s.read())
			}
		}
		switch random.IntN(6) {
		case 0:
			postgres.Kill()
			must(t, postgres.Start(t.Context()))
		case 1:
			postgres.Suspend()
			<-time.After(3 * time.Second)
			postgres.Resume()
		case 2:
			failing().kill()
			next := serve(t, shared)
			mu.Lock()
			victim = next
			mu.Unlock()
		case 3:
			file := filepath.Join(t.TempDir(), "a.backup")
			petcat(t, alone, "backup", file, "--quiet")
		}
		for _, n := range []*node{single, nodes[0], failing()} {
			eventually(t, "the node is ready", n.ready)
		}
	}
	close(stop)
	users.Wait()
	for _, s := range all {
		first, last, grew := s.grew()
		t.Logf("%-45s %14.0f %14.0f", s.name, first, last)
		if grew {
			t.Errorf("%s grew from %.0f to %.0f", s.name, first, last)
		}
	}
	for _, n := range []*node{single, nodes[0], failing()} {
		n.stop()
	}
	made, err := filepath.Glob(filepath.Join(backups, "petcat-production-*"))
	must(t, err)
	if len(made) == 0 || len(made) > 3 {
		t.Errorf("backups: %v", made)
	}
	for _, file := range made {
		petcat(t, alone, "verify", file)
	}
}

// use creates and deletes a category, lists, exceeds a quota, and sends a wrong key. Requests may fail
// only while the database is down.
func use(t *testing.T, client *http.Client, n *node, k, small key, name string) {
	t.Helper()
	ask := func(method, path, body, secret string) *response {
		a, err := try(client, method, n.api+path, strings.NewReader(body), by(secret))
		if err != nil {
			return nil // the node was killed
		}
		paused := a.StatusCode == http.StatusServiceUnavailable && strings.Contains(n.place, "://")
		if a.StatusCode >= http.StatusInternalServerError && !paused {
			t.Errorf("%s %s: %d %s", method, path, a.StatusCode, a.body)
		}
		return a
	}
	created := ask(http.MethodPost, "/v1/categories", fmt.Sprintf(`{"name":%q}`, name), k.Key)
	if created != nil && created.StatusCode == http.StatusCreated {
		ask(http.MethodGet, "/v1/categories", "", k.Key)
		ask(http.MethodDelete, created.Header.Get("Location"), "", k.Key)
	}
	ask(http.MethodGet, "/v1/categories", "", small.Key)
	ask(http.MethodGet, "/v1/categories", "", "pck_live_wrong")
}
