package main

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"petcat"
	"petcat/internal/clock"
	"petcat/internal/config"
)

// banKey makes an account with a key in fresh data, and bans the key until end,
// as a server would.
func banKey(t *testing.T, start, end time.Time) (data string) {
	t.Helper()
	data = filepath.Join(t.TempDir(), "data")
	openAccount(t, data, "acme")
	mustRun(t, "key", "create", "acme", "--data", data)
	p := &program{clock: clock.NewSystem()}
	st, err := p.openStore(t.Context(), config.Settings{Data: data}, mustExist)
	if err != nil {
		t.Fatal(err)
	}
	ban := petcat.Ban{Key: 1, Account: 1, Level: 2, StartedAt: start, EndsAt: end, EarlyRetries: 31}
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
	data := banKey(t, longAgo, farOff)
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
