package server

import (
	"context"
	"crypto/rand"
	"io"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"petcat"
	"petcat/internal/clock"
	"petcat/internal/config"
	"petcat/internal/logging"
	"petcat/internal/metrics"
	"petcat/internal/ratelimit"
)

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// newKey makes an account on the Free plan, and a key for it.
func newKey(t *testing.T, in Accounts) (key petcat.Key, secret petcat.Secret) {
	t.Helper()
	free := must(petcat.ParseSubscription(string(petcat.Free), 0, 0))
	account := must(in.CreateAccount(t.Context(), "cli:ada", must(petcat.ParseNewAccount("acme", free))))
	generated := must(petcat.GenerateKey(in.Environment(), rand.Reader))
	asked := must(petcat.ParseNewKey(account.ID, petcat.KeyTerms{}, time.Now(), generated))
	return must(in.CreateKey(t.Context(), "cli:ada", asked)), generated.Secret
}

// banKey makes an account with a key that is banned until end.
func banKey(t *testing.T, b backend, end time.Time) {
	t.Helper()
	key, _ := newKey(t, b)
	ban := petcat.Ban{Key: key.ID, Account: key.Account, Level: 2, StartedAt: time.Now(), EndsAt: end, EarlyRetries: 31}
	if err := b.SaveBan(t.Context(), ban); err != nil {
		t.Fatal(err)
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
	c := clock.NewSystem()
	log := logging.New(io.Discard, slog.LevelInfo, logging.Text)
	defer func() { _ = log.Close() }()
	n := &Node{
		settings: config.Settings{Data: filepath.Join(t.TempDir(), "data"), Environment: petcat.Production, KeysInMemory: 10},
		clock:    c, log: log, metrics: metrics.New("test"), limitsClock: ratelimit.NewClock(c),
	}
	defer func() {
		if err := n.close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	}()
	n.backend = must(n.openBackend(t.Context()))
	banKey(t, n.backend, time.Now().Add(time.Hour))
	n.backend = lifting{n.backend}
	if err := n.loadLimits(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := n.followChanges(t.Context()); err != nil {
		t.Fatal(err)
	}
	late := time.After(30 * time.Second)
	for {
		d, err := n.limiter.Spend(t.Context(), ratelimit.Charge{Account: 1, Key: 1, Quota: petcat.Quota{PerMinute: 1_000_000, PerDay: 1_000_000}})
		if err != nil {
			t.Fatal(err)
		}
		if d.Verdict == ratelimit.Admitted {
			return
		}
		select {
		case <-late:
			t.Fatal("the lifted ban is not over after 30 s")
		case <-time.After(2 * time.Millisecond):
		}
	}
}
