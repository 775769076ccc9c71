package main

import (
	"context"
	"io"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"petcat"
	"petcat/internal/clock"
	"petcat/internal/logging"
	"petcat/internal/metrics"
	"petcat/internal/ratelimit"
)

// banKey makes an account with a key in fresh data, and bans the key until end,
// as a server would.
func banKey(t *testing.T, start, end time.Time, shadow bool) (data string) {
	t.Helper()
	data = filepath.Join(t.TempDir(), "data")
	openAccount(t, data, "acme", "free")
	mustRun(t, "key", "create", "acme", "--data", data)
	p := &program{clock: clock.NewSystem()}
	st, err := p.openStore(t.Context(), Settings{Data: data, Database: petcat.NewSecret(sqliteDatabase)}, mustExist)
	if err != nil {
		t.Fatal(err)
	}
	ban := petcat.Ban{Key: 1, Account: 1, Level: 2, StartedAt: start, EndsAt: end, EarlyRetries: 31, Shadow: shadow}
	if err := st.SaveBan(t.Context(), ban); err != nil {
		t.Fatal(err)
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	return data
}

// Far enough from any moment at which the tests run.
var (
	longAgo = time.Date(2020, 1, 31, 12, 0, 0, 0, time.UTC)
	farOff  = time.Date(2999, 1, 31, 12, 0, 0, 0, time.UTC)
)

func TestBanListAndLift(t *testing.T) {
	data := banKey(t, longAgo, farOff, false)
	list := mustRun(t, "ban", "list", "--data", data)
	for _, want := range []string{"key_1", "acct_1", "active", "2020-01-31T12:00:00Z", "2999-01-31T12:00:00Z", "31"} {
		if !strings.Contains(list, want) {
			t.Errorf("ban list does not show %s:\n%s", want, list)
		}
	}
	if got := mustRun(t, "ban", "lift", "key_1", "--data", data); got != "The ban of key_1 is lifted.\n" {
		t.Errorf("ban lift says %q", got)
	}
	if got := mustRun(t, "ban", "list", "--data", data); got != "No key is banned.\n" {
		t.Errorf("ban list still shows %q", got)
	}
	all := mustRun(t, "ban", "list", "--all", "--json", "--data", data)
	if !strings.Contains(all, `"state": "lifted"`) || !strings.Contains(all, `"lifted_by": "cli:`) {
		t.Errorf("ban list --all does not tell who lifted it: %s", all)
	}
	if code, _, stderr := petcatRuns(t, "ban", "lift", "key_1", "--data", data); code != exitFailed {
		t.Errorf("lifting twice: exit code %d: %s", code, stderr)
	}
}

func TestShadowBanIsListedAsOne(t *testing.T) {
	data := banKey(t, longAgo, farOff, true)
	if list := mustRun(t, "ban", "list", "--data", data); !strings.Contains(list, "shadow") {
		t.Errorf("ban list shows %q", list)
	}
}

func TestEndedBanIsListedOnlyWhenAsked(t *testing.T) {
	data := banKey(t, longAgo, longAgo.Add(time.Minute), false)
	if list := mustRun(t, "ban", "list", "--data", data); strings.Contains(list, "key_1") {
		t.Errorf("ban list shows %q", list)
	}
	if list := mustRun(t, "ban", "list", "--all", "--data", data); !strings.Contains(list, "ended") {
		t.Errorf("ban list --all shows %q", list)
	}
}

// lifting is a backend in which somebody lifts a ban just after the bans were read.
type lifting struct {
	backend
}

func (l lifting) EachBan(ctx context.Context, fn func(petcat.Ban) error) error {
	if err := l.backend.EachBan(ctx, fn); err != nil {
		return err
	}
	_, err := l.LiftBan(ctx, "cli:ada", 1)
	return err
}

// A ban that is lifted while a node starts is over for that node, too.
func TestBanLiftedDuringAStart(t *testing.T) {
	t.Parallel()
	now := time.Now()
	settings := Settings{
		Data: banKey(t, now, now.Add(time.Hour), false), Database: petcat.NewSecret(sqliteDatabase),
		Limiter: petcat.NewSecret(memoryLimiter), KeysInMemory: 10,
	}
	c := clock.NewSystem()
	log := logging.New(io.Discard, slog.LevelInfo, logging.Text)
	defer func() { _ = log.Close() }()
	n := &node{log: log, metrics: metrics.New("test"), clock: ratelimit.NewClock(c)}
	defer func() {
		if err := n.close(); err != nil {
			t.Error(err)
		}
	}()
	if err := n.openStore(t.Context(), settings, c); err != nil {
		t.Fatal(err)
	}
	n.store.backend = lifting{n.store.backend}
	if err := n.openLimits(t.Context(), settings, c); err != nil {
		t.Fatal(err)
	}
	if err := n.followChanges(t.Context(), settings, c); err != nil {
		t.Fatal(err)
	}
	eventually(t, 5*time.Second, "the lifted ban is over", func() bool {
		d, err := n.limiter.Spend(t.Context(), ratelimit.Charge{Account: 1, Key: 1, Quota: petcat.Quota{PerMinute: 1_000_000, PerDay: 1_000_000}})
		if err != nil {
			t.Fatal(err)
		}
		return d.Verdict == ratelimit.Admitted
	})
}
