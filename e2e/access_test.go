package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"petcat"
)

// heardWithin is how soon a running server must know what the command line has
// changed.
const heardWithin = time.Second

// administered is a server in a process of its own, with an account whose key is
// in use: what the commands change, it has in memory.
func administered(t *testing.T, flags ...string) (s *server, id, key string) {
	t.Helper()
	data := filepath.Join(t.TempDir(), "data")
	s = serve(t, data, flags...)
	openAccount(t, data, "acme", unlimited...)
	id, key = issueKey(t, data, "acme")
	wantStatus(t, s.list(key), http.StatusOK)
	return s, id, key
}

// takesEffect runs a command and returns how long after its start the server
// obeyed.
func (s *server) takesEffect(what string, obeyed func() bool, command ...string) time.Duration {
	s.t.Helper()
	s.control().Lap()
	begin := time.Now()
	petcatDoes(s.t, s.data, command...)
	eventually(s.t, 10*time.Second, what, obeyed)
	took := time.Since(begin)
	s.control().Judge(what, took, heardWithin)
	return took
}

// answers returns a condition: the key gets this code, "" for success.
func (s *server) answers(key string, code petcat.Code) func() bool {
	return func() bool { return s.list(key).code() == code }
}

func TestAccessChangesWhileServing(t *testing.T) {
	s, id, key := administered(t, "--bans", "off") // these callers do not wait
	t.Run("a new key works at once", func(t *testing.T) {
		_, fresh := issueKey(t, s.data, "acme")
		wantStatus(t, s.list(fresh), http.StatusOK)
	})
	t.Run("disable and enable", func(t *testing.T) {
		s.takesEffect("the key is disabled", s.answers(key, petcat.CodeDisabledAPIKey), "key", "disable", id)
		s.takesEffect("the key is enabled", s.answers(key, ""), "key", "enable", id)
	})
	t.Run("set-plan", func(t *testing.T) {
		limit := func(n int64) func() bool {
			return func() bool { return s.list(key).number(t, "X-RateLimit-Limit") == n }
		}
		// What is used stays used: the smaller plan's minute is spent.
		for range 60 {
			wantStatus(t, s.list(key), http.StatusOK)
		}
		s.takesEffect("the account is on Free", limit(60), "account", "set-plan", "acme", "free")
		s.takesEffect("the account is on Pro", limit(300), "account", "set-plan", "acme", "pro")
		s.takesEffect("the account has no limits", s.answers(key, ""),
			"account", "set-plan", "acme", "--plan", "enterprise", "--per-minute", "1000000", "--per-day", "1000000000")
	})
	t.Run("rotate", func(t *testing.T) {
		oldID, old := issueKey(t, s.data, "acme")
		wantStatus(t, s.list(old), http.StatusOK)
		rotate := func(overlap string) (secret string) {
			var k struct{ Key string }
			must(t, json.Unmarshal([]byte(petcatDoes(t, s.data, "key", "rotate", oldID, "--overlap", overlap, "--json")), &k))
			return k.Key
		}
		fresh := rotate("0")
		wantStatus(t, s.list(fresh), http.StatusOK)
		s.control().Measure("the old key has expired", heardWithin, func() {
			eventually(t, 10*time.Second, "the old key has expired", s.answers(old, petcat.CodeExpiredAPIKey))
		})

		oldID, old = issueKey(t, s.data, "acme")
		fresh = rotate("1h")
		wantStatus(t, s.list(fresh), http.StatusOK)
		wantStatus(t, s.list(old), http.StatusOK)
	})
	t.Run("a read-only key reads, and so does its successor", func(t *testing.T) {
		readOnly := func(command ...string) (id string) {
			t.Helper()
			var k struct{ ID, Key string }
			must(t, json.Unmarshal([]byte(petcatDoes(t, s.data, append(command, "--json")...)), &k))
			wantStatus(t, s.list(k.Key), http.StatusOK)
			wantError(t, s.create(k.Key, "dog"), http.StatusForbidden, petcat.CodeForbidden)
			return k.ID
		}
		readOnly("key", "rotate", readOnly("key", "create", "acme", "--read-only"))
	})
	t.Run("close", func(t *testing.T) {
		s.takesEffect("the account's keys are revoked", s.answers(key, petcat.CodeRevokedAPIKey), "account", "close", "acme", "--yes")
	})
}

func TestRevocationIsKnownWithinASecond(t *testing.T) {
	s, _, _ := administered(t)
	const times = 20
	var took []time.Duration
	for range times {
		id, key := issueKey(t, s.data, "acme")
		wantStatus(t, s.list(key), http.StatusOK)
		took = append(took, s.takesEffect("the key is revoked", s.answers(key, petcat.CodeRevokedAPIKey), "key", "revoke", id, "--yes"))
	}
	slices.Sort(took)
	t.Logf("%d revocations were known after %s (median), %s (slowest)", times, took[times/2], took[times-1])
}

func TestExpiryNeedsNobodyToTell(t *testing.T) {
	s, _, _ := administered(t)
	var k struct{ Key string }
	at := time.Now().Add(2 * time.Second).UTC().Truncate(time.Second)
	must(t, json.Unmarshal([]byte(petcatDoes(t, s.data, "key", "create", "acme", "--expires", at.Format(time.RFC3339), "--json")), &k))
	wantStatus(t, s.list(k.Key), http.StatusOK)
	eventually(t, 5*time.Second, "the key has expired", s.answers(k.Key, petcat.CodeExpiredAPIKey))
	if early := time.Until(at); early > 0 {
		t.Errorf("it expired %s too early", early)
	}
}

func TestBanIsListedAndLiftedWhileServing(t *testing.T) {
	t.Parallel()
	s, _, _ := administered(t)
	attempts := 0
	s.control().Repeat(func() {
		attempts++
		id, key := s.bannedKey(fmt.Sprint("impatient", attempts))
		if got := s.bans(); len(got) != 1 || got[0].Key != id || got[0].State != "active" {
			t.Errorf("ban list shows %v; want %s", got, id)
		}
		s.takesEffect("the ban is lifted", s.answers(key, petcat.CodeDailyQuotaExceeded), "ban", "lift", id)
		if got := s.bans(); len(got) != 0 {
			t.Errorf("ban list still shows %v", got)
		}
	})
}

// bannedKey makes an account with a key, and lets the key earn a ban that is
// saved. Its day is one request, so that no minute's end gets in the way.
func (s *server) bannedKey(account string) (id, key string) {
	s.t.Helper()
	id, key = s.spentKey(account)
	eventually(s.t, 15*time.Second, "the key is banned", s.answers(key, petcat.CodeKeyBanned))
	eventually(s.t, 5*time.Second, "the ban is saved", func() bool { return len(s.bans()) > 0 })
	return id, key
}

// spentKey makes an account whose day is spent, with a key.
func (s *server) spentKey(account string) (id, key string) {
	s.t.Helper()
	awaitRoomInDay(s.t, 20*time.Second)
	openAccount(s.t, s.data, account, "enterprise", "--per-minute", "1", "--per-day", "1")
	id, key = issueKey(s.t, s.data, account)
	wantStatus(s.t, s.list(key), http.StatusOK)
	wantError(s.t, s.list(key), http.StatusTooManyRequests, petcat.CodeDailyQuotaExceeded)
	return id, key
}

// ban is what ban list shows of one.
type ban struct {
	Key    string
	State  string
	Level  int
	EndsAt string `json:"ends_at"`
}

// bans returns what ban list shows.
func (s *server) bans(flags ...string) (bans []ban) {
	s.t.Helper()
	must(s.t, json.Unmarshal([]byte(petcatDoes(s.t, s.data, append([]string{"ban", "list", "--json"}, flags...)...)), &bans))
	return bans
}

// end returns when a ban ends, as its listing tells, in Unix seconds.
func (b ban) end(t *testing.T) int64 {
	t.Helper()
	at, err := time.Parse(time.RFC3339, b.EndsAt)
	must(t, err)
	return at.Unix()
}

func wantNumber(t *testing.T, a *answer, header string, want int64) {
	t.Helper()
	if got := a.number(t, header); got != want {
		t.Errorf("%s is %s; want %d", header, strconv.FormatInt(got, 10), want)
	}
}
