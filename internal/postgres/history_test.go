package postgres

import (
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/pgtest"
)

// failed reports whether a store has detected a changed history.
func failed(t *testing.T, s *stored) bool {
	t.Helper()
	select {
	case <-s.Failed():
		if err := s.Err(); !errors.Is(err, ErrHistory) || petcat.CodeOf(err) != petcat.CodeServiceUnavailable {
			t.Errorf("the reason is %v", err)
		}
		return true
	default:
		return false
	}
}

// TestLowerRevision: a store detects that the database has a lower revision than before, and does not
// use new connections to it.
func TestLowerRevision(t *testing.T) {
	url := server.Database(t)
	s := openAt(t, url, Options{})
	defer closeNow(t, s)
	create(t, s, "cat")
	if _, err := s.AccessChangesSince(t.Context(), 0); err != nil || failed(t, s) {
		t.Fatalf("an unchanged history: %v %v", err, s.Err())
	}
	server.Server(t).Execute(t, url, `UPDATE counter SET revision = revision - 1`)
	if _, err := s.AccessChangesSince(t.Context(), 0); err != nil || !failed(t, s) {
		t.Errorf("a lower revision: %v %v", err, s.Err())
	}
	s.readers.Reset()
	if _, err := s.FindAccount(t.Context(), "acme"); petcat.CodeOf(err) != petcat.CodeServiceUnavailable {
		t.Errorf("a read after the failure: %v", err)
	}
}

// TestPromotedStandby: after a failover, only usage is still written. A batch that the old primary had
// committed is in the history once if it was replicated, and else it is a gap.
func TestPromotedStandby(t *testing.T) {
	url := server.Database(t)
	s, other := openAt(t, url, Options{}), openAt(t, url, Options{})
	defer closeNow(t, s)
	defer closeNow(t, other)
	hour := time.Now().Truncate(time.Hour)
	batch := func(number int64) petcat.UsageBatch {
		count := petcat.UsageCount{Account: 7, Hour: hour.Unix() / 3600, UsageCounts: petcat.UsageCounts{Requests: 1}}
		return petcat.UsageBatch{Node: "a", Number: number, SeenAt: hour, Counts: []petcat.UsageCount{count}}
	}
	if err := s.AddUsage(t.Context(), batch(1)); err != nil {
		t.Fatal(err)
	}
	s.history.mu.Lock()
	s.history.known.timeline = "before"
	s.history.mu.Unlock()
	for _, p := range s.pools() {
		p.Reset()
	}
	for _, number := range []int64{1, 2, 4} {
		if err := s.AddUsage(t.Context(), batch(number)); err != nil {
			t.Errorf("batch %d: %v", number, err)
		}
	}
	if !failed(t, s) {
		t.Error("another timeline was not detected")
	}
	h, err := other.Usage(t.Context(), petcat.UsageQuery{
		Account: 7,
		From:    hour,
		To:      hour.Add(time.Hour),
	})
	if err != nil || len(h.Periods) != 1 || h.Periods[0].Requests != 3 || len(h.Gaps) != 1 {
		t.Errorf("the history is %+v, %v", h, err)
	}
	_, err = s.AccessChangesSince(t.Context(), 0)
	wantUnavailable(t, err)
	_, err = s.CreateAccount(t.Context(), petcat.By("cli:ada"), petcat.NewAccount{Name: "acme", Subscription: petcat.Subscription{}})
	wantUnavailable(t, err)
	_, err = tryCreate(t.Context(), t, s, "cat", "")
	wantUnavailable(t, err)
}

// TestRecreatedDatabase: a store detects that its database was dropped and created again.
func TestRecreatedDatabase(t *testing.T) {
	pg := server.Server(t)
	url := pg.Database(t)
	s := openAt(t, url, Options{})
	defer closeNow(t, s)
	config, err := pgx.ParseConfig(url)
	if err != nil {
		t.Fatal(err)
	}
	before := s.HistoryID()
	pg.Execute(t, "postgres", `DROP DATABASE `+config.Database+` WITH (FORCE)`)
	pg.Execute(t, "postgres", `CREATE DATABASE `+config.Database)
	again := openAt(t, url, Options{})
	defer closeNow(t, again)
	if _, err := s.Revision(t.Context()); err == nil || !failed(t, s) {
		t.Errorf("another database: %v %v", err, s.Err())
	}
	if err := s.AddUsage(t.Context(), petcat.UsageBatch{Node: "a", Number: 1}); err == nil {
		t.Error("usage was written to another database")
	}
	if before == "" || again.HistoryID() == before {
		t.Errorf("the history id of both is %q", before)
	}
}

// TestUnreadableHistory: a role that may not read the server's identity can use it.
func TestUnreadableHistory(t *testing.T) {
	url := server.Server(t).Database(t)
	config, err := pgx.ParseConfig(url)
	if err != nil {
		t.Fatal(err)
	}
	owner, role := pgtest.Connect(t, url), "plain_"+config.Database
	pgtest.Execute(t, owner, `REVOKE EXECUTE ON FUNCTION pg_control_system() FROM PUBLIC`)
	pgtest.Execute(t, owner, `CREATE ROLE `+role+` LOGIN; GRANT ALL ON SCHEMA public TO `+role)
	t.Cleanup(func() { pgtest.Execute(t, owner, `DROP OWNED BY `+role+` CASCADE; DROP ROLE `+role) })
	s := openAt(t, "postgres://"+role+"@"+server.Server(t).Address()+"/"+config.Database+"?sslmode=disable", Options{})
	defer closeNow(t, s)
	create(t, s, "cat")
	if s.HistoryID() != "" || failed(t, s) {
		t.Errorf("history id %q, %v", s.HistoryID(), s.Err())
	}
}
