package console

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"testing"
	"time"

	"petcat"
	"petcat/internal/stalltest"
	"petcat/internal/store"
)

const (
	// many is how many accounts a page is to be fast with, each with two keys, and every
	// tenth of them banned.
	many = 100_000
	// shown is the account whose pages are asked for.
	shown petcat.AccountID = 77_777
)

// fill makes many accounts, as their operations would.
func (s *service) fill() {
	s.t.Helper()
	const (
		account = `INSERT INTO account (id, name, plan, per_minute, per_day, created_at, revision) VALUES (?, ?, 'free', 60, 1000, ?, ?)`
		key     = `INSERT INTO api_key (id, account_id, hash, label, hint, created_at, successor_id, revision) VALUES (?, ?, ?, '', 'abcd', ?, 0, ?)`
		ban     = `INSERT INTO ban (key_id, account_id, level, started_at, ends_at, early_retries, shadow, lifted_by, revision) VALUES (?, ?, 1, ?, ?, 31, 0, '', ?)`
		entry   = `INSERT INTO audit (sequence, at, actor, action, subject, detail, hash) VALUES (?, ?, 'cli:root', 'account.create', ?, '{}', ?)`
		counter = `UPDATE counter SET revision = ?, access_revision = ?, account_id = ?, key_id = ? WHERE id = 1`
	)
	at := noon.UnixMilli()
	must(s.t, s.store.Change(s.t.Context(), "fill", func(tx *store.Tx) error {
		exec := func(query string, args ...any) {
			if _, err := tx.Exec(query, args...); err != nil {
				s.t.Fatal(err)
			}
		}
		for i := range int64(many) {
			id := i + 1
			exec(account, id, fmt.Sprintf("Customer %06d", id*7919%many), at, id)
			for k := 2*id - 1; k <= 2*id; k++ {
				hash := sha256.Sum256(fmt.Append(nil, k))
				exec(key, k, id, hash[:], at, many+k)
			}
			if id%10 == 0 {
				exec(ban, 2*id, id, at, at+id%20, 3*many+id)
			}
			sum := sha256.Sum256(fmt.Append(nil, "entry", id))
			exec(entry, id+1_000, at, petcat.AccountID(id).String(), sum[:])
		}
		exec(counter, 4*many, 4*many, many, 2*many)
		return nil
	}))
}

// fillUsage makes a usage history of accounts that are all active, through the store's
// operations: what is folded, what is merged, and what waits to be merged.
func (s *service) fillUsage() {
	s.t.Helper()
	var number int64
	var counts []petcat.UsageCount
	var keys []petcat.KeyUse
	count := func(a petcat.AccountID, ago time.Duration) {
		counts = append(counts, petcat.UsageCount{
			Account: a, Minute: petcat.Minute.Index(noon.Add(-ago).Unix()), UsageCounts: petcat.UsageCounts{Requests: 1, MinuteRefused: int64(a % 2), Bytes: 900},
		})
	}
	use := func(a petcat.AccountID, ago time.Duration) {
		keys = append(keys, petcat.KeyUse{Key: petcat.KeyID(2 * a), At: noon.Add(-ago)}, petcat.KeyUse{Key: petcat.KeyID(2*a - 1), At: noon.Add(-ago)})
	}
	add := func() {
		number++
		must(s.t, s.store.AddUsage(s.t.Context(), petcat.UsageBatch{Node: "N1", Number: number, Until: noon, Counts: counts, Keys: keys}))
		counts, keys = nil, nil
	}
	for _, a := range []petcat.AccountID{petcat.AllAccounts, shown} { // each hour of two years
		for ago := 2 * time.Hour; ago < petcat.UsageDays; ago += time.Hour {
			count(a, ago)
		}
		add()
	}
	for first := petcat.AccountID(1); first <= many; first += 10_000 { // all accounts, yesterday
		for a := first; a < first+10_000; a++ {
			count(a, 24*time.Hour)
			use(a, 24*time.Hour)
		}
		add()
	}
	// Merged batches are read by parts of 512 accounts: only those are made that pages
	// read, of the sum of all accounts and of the account that is shown.
	for ago := time.Minute; ago <= time.Hour; ago += time.Minute {
		for a := range petcat.AccountID(512) {
			count(a, ago)
			count(shown/512*512+a, ago)
		}
		add()
	}
	must(s.t, s.store.Clean(s.t.Context()))
	// If all accounts send a request a minute, a second adds 17 KB. A node that looks once
	// a minute whether there is 1 MB to merge finds two minutes at most.
	for second := range 120 {
		ago := time.Duration(120-second) * time.Second
		count(petcat.AllAccounts, ago)
		for a := petcat.AccountID(second%60 + 1); a <= many; a += 60 {
			count(a, ago)
			use(a, ago)
		}
		add()
	}
	refused := petcat.AccountRefusals{Account: shown}
	for n := range petcat.RecentRefusals {
		refused.Refusals = append(refused.Refusals, petcat.Refusal{
			At: noon.Add(-time.Duration(n) * time.Second), RequestID: fmt.Sprint(n), Key: petcat.KeyID(2 * shown), Operation: petcat.OpListCategories, Status: http.StatusTooManyRequests,
			Code: petcat.CodeRateLimitExceeded, Minute: petcat.Spent{Used: 60, Limit: 60}, Day: petcat.Spent{Used: 600, Limit: 1_000}, Until: noon.Add(time.Minute),
		})
	}
	must(s.t, s.store.AddRefusals(s.t.Context(), []petcat.AccountRefusals{refused}))
}

// fillCategories makes as many categories as one search looks at.
func (s *service) fillCategories() {
	s.t.Helper()
	must(s.t, s.store.Change(s.t.Context(), "fill", func(tx *store.Tx) error {
		for i := range searchedAtOnce {
			name, description := fmt.Sprintf("Category %d", i+1), "What a list says of it"
			asked, err := petcat.ParseNewCategory(&name, &description)
			if err == nil {
				err = tx.Create(&store.Create{CreateCategory: petcat.CreateCategory{Account: 1, New: asked}})
			}
			if err != nil {
				return err
			}
		}
		return nil
	}))
}

// TestManyAccounts: each page takes less than 100 ms, however many accounts there are, and
// however much they are used.
func TestManyAccounts(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes 10 s: make test runs it, make quick does not")
	}
	s := start(t)
	b := s.admin()
	s.fillCategories()
	s.fill()
	s.fillUsage()
	control := stalltest.Start(t)
	for _, path := range []string{
		"", "accounts", "accounts?q=customer+05", "accounts?q=customer&after=acct_777", "accounts?q=x", "accounts/acct_77777", "accounts/acct_77777/close",
		"accounts/acct_77777/usage", "accounts/acct_77777/usage?by=minute", "accounts/acct_77777/usage?by=day", "accounts/acct_77777/usage.csv?by=day",
		"usage", "usage?by=minute", "usage?by=day", "usage?by=day&from=2025-03-15", "usage.csv", "usage.csv?by=day&from=2025-03-15", "usage.json?by=day",
		"keys/key_155554", "keys/key_155554/revoke", "bans", "bans?after=key_150000", "bans?all=yes",
		"categories", "categories?after=15000", "categories?q=category+777", "categories?q=nothing", "categories/20000", "categories/20000/delete",
		"audit", "audit?before=5000", "audit?about=acct_5", "audit?actor=nobody", "operators", "nodes", "settings",
	} {
		control.InTime(path, 100*time.Millisecond, func() time.Duration {
			began := time.Now()
			b.get(path).want(http.StatusOK)
			return time.Since(began)
		})
	}
}
