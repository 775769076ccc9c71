package e2e

import (
	"context"
	"encoding/json"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"petcat"
	"petcat/internal/clock"
	"petcat/internal/datadir"
	"petcat/internal/postgres"
	"petcat/internal/sqlite"
	"petcat/internal/storetest"
)

// TestMoveBetweenStores: all four ways, everything that a store can be asked for.
func TestMoveBetweenStores(t *testing.T) {
	embedded := func(t *testing.T, place string, c clock.Clock) storetest.Store {
		t.Helper()
		dir, err := datadir.Open(place)
		must(t, err)
		s, err := sqlite.Open(t.Context(), sqlite.Options{Dir: dir, Clock: c})
		must(t, err)
		return s
	}
	server := sharedPostgres.Server(t)
	var mu sync.Mutex
	databases := make(map[string]string) // by place
	shared := func(t *testing.T, place string, c clock.Clock) storetest.Store {
		t.Helper()
		mu.Lock()
		defer mu.Unlock()
		if databases[place] == "" {
			databases[place] = server.Database(t)
		}
		s, err := postgres.Open(t.Context(), postgres.Options{URL: petcat.NewSecret(databases[place]), Clock: c})
		must(t, err)
		return s
	}
	for name, way := range map[string][2]storetest.Open{
		"SQLite to SQLite": {embedded, embedded}, "SQLite to PostgreSQL": {embedded, shared},
		"PostgreSQL to SQLite": {shared, embedded}, "PostgreSQL to PostgreSQL": {shared, shared},
	} {
		t.Run(name, func(t *testing.T) { storetest.RunMove(t, way[0], way[1]) })
	}
}

// TestMovingHouse moves a deployment from the embedded database to PostgreSQL and
// back, under the eyes of its callers.
func TestMovingHouse(t *testing.T) {
	t.Parallel()
	awaitRoomInDay(t, time.Minute)
	house := &house{t: t}
	first := filepath.Join(t.TempDir(), "data")
	s := serve(t, first)
	house.furnish(s)
	s.mustStop()

	database := sharedPostgres.Server(t).Database(t)
	said := move(t, first, database)
	for _, line := range []string{"Restored production data", "into the PostgreSQL database at /", "accounts ", "keys ", "bans ", "categories ", "day counts "} {
		if !strings.Contains(said, line) {
			t.Errorf("restore said nothing of %q:\n%s", line, said)
		}
	}
	s = serve(t, database)
	house.visit(s, 0)
	s.mustStop()

	second := filepath.Join(t.TempDir(), "data")
	move(t, database, second)
	s = serve(t, second)
	house.visit(s, 10)
	s.mustStop()
	petcatDoes(t, second, "verify")

	// The way back that costs nothing: what was left behind is as it was.
	s = serve(t, first)
	if got := len(s.categories(house.key)); got != 3 {
		t.Errorf("the old place has %d categories", got)
	}
}

// move backs one place up and restores the other, which says what it did.
func move(t *testing.T, from, to string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "house.backup")
	petcatDoes(t, from, "backup", file)
	petcatDoes(t, from, "verify", file)
	return petcatDoes(t, to, "restore", file)
}

// house is a deployment as its callers see it.
type house struct {
	t           *testing.T
	key, limits string // of a caller without limits, and of one on the Free plan
	banned      string
	banEnds     int64
	dayLeft     int64 // of the Free plan
	created     int64
	list        []byte
	tags        []string // every ETag that was ever shown
}

func (h *house) furnish(s *server) {
	h.t.Helper()
	h.key = newCaller(h.t, s.data)
	openAccount(h.t, s.data, "small", "free")
	_, h.limits = issueKey(h.t, s.data, "small")
	_, h.banned = s.bannedKey("impatient")
	h.banEnds = s.list(h.banned).number(h.t, "X-RateLimit-Reset")
	for _, name := range []string{"dog", "cat"} {
		h.created = s.mustCreate(h.key, name)
	}
	a := s.create(h.key, "rabbit", withHeader("Idempotency-Key", "a"))
	wantStatus(h.t, a, http.StatusCreated)
	h.created = a.category(h.t).ID
	for range 7 {
		h.dayLeft = s.list(h.limits).dayLeft(h.t)
	}
	h.remember(s)
}

// remember looks at the list, to find it again.
func (h *house) remember(s *server) {
	h.t.Helper()
	a := s.list(h.key)
	wantStatus(h.t, a, http.StatusOK)
	h.list = a.body
	h.tags = append(h.tags, a.Header.Get("ETag"))
}

// visit checks that all is as it was, but for so many requests of the day, and adds
// something.
func (h *house) visit(s *server, lost int64) {
	t := h.t
	t.Helper()
	a := s.list(h.key, withHeader("If-None-Match", strings.Join(h.tags, ", ")))
	wantStatus(t, a, http.StatusOK) // never 304 for what another store showed
	if diff := cmp.Diff(string(h.list), string(a.body)); diff != "" {
		t.Errorf("the list differs (-want +got):\n%s", diff)
	}
	wantError(t, s.list(h.banned), http.StatusTooManyRequests, petcat.CodeKeyBanned)
	wantNumber(t, s.list(h.banned), "X-RateLimit-Reset", h.banEnds)
	left := s.list(h.limits).dayLeft(t)
	// Nodes that count together leave what is leased with the counters, less than a
	// hundredth of the day's 1,000.
	if left > h.dayLeft-1 || left < h.dayLeft-1-lost {
		t.Errorf("%d of the day are left after one more request; %d were left before the move", left, h.dayLeft)
	}
	h.dayLeft = left
	a = s.create(h.key, "rabbit", withHeader("Idempotency-Key", "a"))
	wantStatus(t, a, http.StatusCreated)
	if a.Header.Get("Idempotent-Replayed") != "true" || a.category(t).Name != "rabbit" {
		t.Errorf("the replay is %s, with the headers %v", a.body, a.Header)
	}
	wantError(t, s.create(h.key, "other", withHeader("Idempotency-Key", "a")), http.StatusUnprocessableEntity, petcat.CodeIdempotencyKeyReused)
	next := s.mustCreate(h.key, "another")
	if next != h.created+1 {
		t.Errorf("the next category has the id %d after %d", next, h.created)
	}
	h.created = next
	h.remember(s)
}

// TestBackupWhileServing: a server that goes on working is copied as of one
// moment, and everything that was answered before is in the copy.
func TestBackupWhileServing(t *testing.T) {
	t.Parallel()
	places := map[string]string{
		"SQLite": filepath.Join(t.TempDir(), "data"), "PostgreSQL": sharedPostgres.Server(t).Database(t),
	}
	for name, data := range places {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, data)
			key := newCaller(t, data)
			ctx, cancel := context.WithCancel(t.Context())
			var writers sync.WaitGroup
			var acknowledged [4]int64
			for i := range acknowledged {
				writers.Go(func() {
					for ctx.Err() == nil {
						a, err := s.try(http.MethodPost, s.api+"/v1/categories", strings.NewReader(categoryBody("dog")), withKey(key))
						if err != nil || a.StatusCode != http.StatusCreated {
							t.Errorf("create: %v %v", a, err)
							return
						}
						acknowledged[i]++
					}
				})
			}
			file := filepath.Join(t.TempDir(), "a.backup")
			for range 5 {
				before := s.mustCreate(key, "before")
				petcatDoes(t, data, "backup", file, "--force", "--quiet")
				var r report
				must(t, json.Unmarshal([]byte(petcatDoes(t, data, "verify", file, "--json")), &r))
				if int64(r.LastCategory) < before {
					t.Errorf("category %d was answered before the backup, which ends with %d", before, r.LastCategory)
				}
			}
			cancel()
			writers.Wait()
			petcatDoes(t, data, "verify")
		})
	}
}

// TestRestoreBesideAServer: not even an empty place is filled under a server.
func TestRestoreBesideAServer(t *testing.T) {
	file := backedUp(t)
	for name, data := range map[string]string{
		"SQLite": filepath.Join(t.TempDir(), "data"), "PostgreSQL": sharedPostgres.Server(t).Database(t),
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, data)
			code, _, text := petcatRuns(t, append([]string{"restore", file}, placeFlags(data)...)...)
			if code != exitTryLater || !strings.Contains(text, "; stop ") {
				t.Errorf("restore beside a server ended with %d: %s", code, text)
			}
			s.mustStop()
			petcatDoes(t, data, "restore", file)
		})
	}
}
