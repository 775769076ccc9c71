package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/clock"
	"github.com/petcat-api/petcat/internal/datadir"
	"github.com/petcat-api/petcat/internal/sqlite"
	"github.com/petcat-api/petcat/internal/store"
)

// requestPlan makes a request of the account acct_1, as its customer does.
func requestPlan(t *testing.T, data, plan string) {
	t.Helper()
	dir, err := datadir.Open(data, false)
	must(t, err)
	db, err := sqlite.Open(t.Context(), sqlite.Options{
		Dir:         dir,
		Environment: petcat.Production,
		Clock:       clock.NewSystem(),
	})
	must(t, err)
	asked, err := petcat.ParseNewPlanRequest(1, plan, "please")
	must(t, err)
	account := petcat.AccountID(1)
	_, err = store.New(db, clock.NewSystem()).RequestPlan(t.Context(), petcat.By(account.Actor()), asked)
	must(t, err)
	must(t, db.Close())
}

// TestPlanRequests: a request is listed until it is approved or declined, and after that with --all.
func TestPlanRequests(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	openAccount(t, data, "acme")
	list := func(want string, more ...string) {
		t.Helper()
		args := append([]string{"plan-request", "list", "--data", data}, more...)
		if got := mustRun(t, args...); !strings.Contains(got, want) {
			t.Errorf("petcat %s: %s; want %q in it", strings.Join(args, " "), got, want)
		}
	}
	says := func(command, want string) {
		t.Helper()
		if got := mustRun(t, append(strings.Fields(command), "--data", data)...); got != want+"\n" {
			t.Errorf("petcat %s: %s", command, got)
		}
	}
	const none = "No plan requests."
	list(none)
	requestPlan(t, data, "pro")
	list("please")
	says("plan-request decline 1", "Plan request 1 of acme (acct_1) is declined.")
	list(none)
	list(`"state": "declined"`, "--all", "--json")

	requestPlan(t, data, "enterprise")
	says("plan-request approve 2 --per-minute 10 --per-day 20",
		"Plan request 2 is approved: acme (acct_1) is on the enterprise plan.")
	list(none)
	list(`"account_name": "acme"`, "--all", "--json")
	if got := mustRun(t, "account", "show", "acme", "--data", data); !strings.Contains(got, "enterprise") {
		t.Errorf("the account is %s", got)
	}
}
