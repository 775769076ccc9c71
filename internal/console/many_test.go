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

// many is how many accounts a page is to be fast with, each with two keys, and every tenth
// of them banned.
const many = 100_000

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

// TestManyAccounts: each page takes less than 100 ms, however many accounts there are.
func TestManyAccounts(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes 5 s: make test runs it, make quick does not")
	}
	s := start(t)
	b := s.admin()
	s.fill()
	control := stalltest.Start(t)
	for _, path := range []string{
		"", "accounts", "accounts?q=customer+05", "accounts?q=customer&after=acct_777", "accounts?q=x", "accounts/acct_99999", "accounts/acct_99999/usage", "usage",
		"keys/key_100000", "bans", "bans?after=key_150000", "bans?all=yes", "audit", "audit?before=5000", "audit?about=acct_5", "audit?actor=nobody", "operators",
	} {
		control.InTime(path, 100*time.Millisecond, func() time.Duration {
			began := time.Now()
			b.get(path).want(http.StatusOK)
			return time.Since(began)
		})
	}
}
