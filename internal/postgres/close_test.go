package postgres

import (
	"testing"

	"petcat"
	"petcat/internal/pgtest"
)

// An account with many keys is closed in the time that any change has, which is
// also the time for which nobody can create.
func TestAccountWithManyKeysIsClosed(t *testing.T) {
	t.Parallel()
	const keys = 20_000
	url := server.Database(t)
	s := openAt(t, url, Options{})
	defer closeNow(t, s)
	subscription, err := petcat.ParseSubscription("free", 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	n, err := petcat.ParseNewAccount("acme", subscription)
	if err != nil {
		t.Fatal(err)
	}
	a, err := s.CreateAccount(t.Context(), "test", n)
	if err != nil {
		t.Fatal(err)
	}
	const insert = `INSERT INTO api_key (id, account_id, hash, label, hint, created_at, successor_id, revision)
		SELECT n, $1, sha256(n::text::bytea), '', '', 0, 0, 1 FROM generate_series(1, $2::int8) AS n`
	if _, err := pgtest.Connect(t, url).Exec(t.Context(), insert, int64(a.ID), int64(keys)); err != nil {
		t.Fatal(err)
	}
	if _, err := s.CloseAccount(t.Context(), "test", a.ID); err != nil {
		t.Fatal(err)
	}
	revoked := 0
	err = s.EachKey(t.Context(), a.ID, func(k petcat.Key) error {
		if !k.RevokedAt.IsZero() {
			revoked++
		}
		return nil
	})
	if err != nil || revoked != keys {
		t.Errorf("%d keys are revoked, %v; want %d", revoked, err, keys)
	}
	change, err := s.AccessChangesSince(t.Context(), 1)
	if err != nil || len(change.Keys) != keys || change.Revision != keys+2 {
		t.Errorf("others are told of %d keys, up to revision %d, %v", len(change.Keys), change.Revision, err)
	}
	var head petcat.AuditHead
	err = s.EachAuditEntry(t.Context(), petcat.AuditQuery{}, func(e petcat.AuditEntry) error {
		if want := head.Append(e); e != want {
			t.Errorf("entry %+v, want %+v", e, want)
		}
		return nil
	})
	if err != nil || head.Sequence != keys+2 {
		t.Errorf("%d entries in the audit log, %v; want %d", head.Sequence, err, keys+2)
	}
}
