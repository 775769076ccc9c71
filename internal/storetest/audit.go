package storetest

import (
	"crypto/sha256"
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/store"
)

func wantChain(t *testing.T, entries []petcat.AuditEntry) {
	t.Helper()
	var previous [sha256.Size]byte
	for i, e := range entries {
		if e.Sequence != int64(i+1) {
			t.Fatalf("entry %d has sequence %d", i+1, e.Sequence)
		}
		if e.Hash != e.Seal(previous) {
			t.Fatalf("entry %d (%s %s) does not follow the one before it", e.Sequence, e.Action, e.Subject)
		}
		if !json.Valid([]byte(e.Detail)) || !strings.HasPrefix(e.Detail, "{") {
			t.Errorf("entry %d: detail %s is not a JSON object", e.Sequence, e.Detail)
		}
		previous = e.Hash
	}
}

func testAudit(t *testing.T, open Open) {
	t.Run("every change has an entry", func(t *testing.T) { testAuditEntries(t, open) })
	t.Run("queries", func(t *testing.T) { testAuditQuery(t, open) })
	t.Run("entries cannot be altered", func(t *testing.T) { testAuditIsAppendOnly(t, open) })
	t.Run("the chain is intact when several processes append", func(t *testing.T) {
		f := start(t, open)
		other := f.another(t)
		var wg sync.WaitGroup
		for i := range 24 {
			s := []*store.Store{f.Store, other}[i%2]
			name, free := petcat.AccountName(strings.Repeat("a", i+1)), subscription(t, "free", 0, 0)
			wg.Go(func() {
				if _, err := s.CreateAccount(t.Context(), petcat.By(operator), petcat.NewAccount{Name: name, Subscription: free}); err != nil {
					t.Errorf("create account: %v", err)
				}
			})
		}
		wg.Wait()
		entries := f.audit(t)
		wantEqual(t, "entries", 24, len(entries))
		wantChain(t, entries)
	})
}

func testAuditEntries(t *testing.T, open Open) {
	f := start(t, open)
	a := f.account(t, "zoo")
	k, g := f.key(t, a.ID, 1)
	must(f.EditAccount(t.Context(), petcat.By(operator), a.ID, petcat.EditPlan(subscription(t, "enterprise", 5, 6))))
	f.clock.Advance(time.Minute)
	f.change(t, k.ID, petcat.DisableKey)
	f.change(t, k.ID, petcat.EnableKey)
	f.change(t, k.ID, petcat.EnableKey) // no change
	r, _, err := generator(2).Rotation(k.ID, 0)
	must(r, err)
	second := r.Generated()
	must(f.RotateKey(t.Context(), petcat.By(operator), r))
	ban := petcat.Ban{
		Key:       k.ID,
		Account:   a.ID,
		Level:     1,
		StartedAt: f.now(),
		EndsAt:    f.now().Add(time.Minute),
	}
	if err := f.SaveBan(t.Context(), ban); err != nil {
		t.Fatal(err)
	}
	must(f.LiftBan(t.Context(), petcat.By(operator), k.ID))
	f.change(t, k.ID, petcat.RevokeKey)
	must(f.CloseAccount(t.Context(), petcat.By("cli:bob"), a.ID))

	type line struct {
		At              time.Time
		Actor           petcat.Actor
		Action, Subject string
	}
	later := noon.Add(time.Minute)
	want := []line{
		{noon, operator, "account.create", "acct_1"},
		{noon, operator, "key.create", "key_1"},
		{noon, operator, "account.set_plan", "acct_1"},
		{later, operator, "key.disable", "key_1"},
		{later, operator, "key.enable", "key_1"},
		{later, operator, "key.rotate", "key_1"},
		{later, petcat.ServiceActor, "ban.create", "key_1"},
		{later, operator, "ban.lift", "key_1"},
		{later, operator, "key.revoke", "key_1"},
		{later, "cli:bob", "key.revoke", "key_2"},
		{later, "cli:bob", "account.close", "acct_1"},
	}
	entries := f.audit(t)
	var got []line
	for _, e := range entries {
		got = append(got, line{e.At, e.Actor, e.Action, e.Subject})
		for _, secret := range []petcat.GeneratedKey{g, second} {
			for _, hidden := range []string{secret.Secret.Reveal(), string(secret.Hash[:])} {
				if strings.Contains(e.Detail, hidden) {
					t.Errorf("entry %d discloses a key", e.Sequence)
				}
			}
		}
	}
	wantEqual(t, "the audit log", want, got)
	wantChain(t, entries)
}

func testAuditIsAppendOnly(t *testing.T, open Open) {
	f := start(t, open)
	f.account(t, "zoo")
	before := f.audit(t)
	for _, statement := range []string{
		`UPDATE audit SET actor = 'cli:bob'`,
		`UPDATE audit SET sequence = 2 WHERE sequence = 1`,
		`DELETE FROM audit`,
	} {
		err := f.Change(t.Context(), "alter the audit log", func(tx *store.Tx) error {
			_, err := tx.Exec(statement)
			return err
		})
		if err == nil || !strings.Contains(err.Error(), "audit entries are never") {
			t.Errorf("%s: %v", statement, err)
		}
	}
	f.account(t, "shop")
	entries := f.audit(t)
	wantEqual(t, "the entry", before, entries[:1])
	wantChain(t, entries)
}

func testAuditQuery(t *testing.T, open Open) {
	f := start(t, open)
	zoo, shop := f.account(t, "zoo"), f.account(t, "shop")
	zooKey, _ := f.key(t, zoo.ID, 1)
	f.clock.Advance(time.Minute)
	f.key(t, shop.ID, 2)
	must(f.ChangeKey(t.Context(), petcat.By("cli:bob"), zooKey.ID, petcat.DisableKey))
	all := f.audit(t)
	everything := petcat.AuditQuery{
		Account: zoo.ID,
		Key:     zooKey.ID,
		Actor:   "cli:bob",
		Since:   noon,
		Newest:  1,
	}
	for _, c := range []struct {
		name string
		q    petcat.AuditQuery
		want []int64
	}{
		{"all", petcat.AuditQuery{}, []int64{1, 2, 3, 4, 5}},
		{"an account and its keys", petcat.AuditQuery{Account: zoo.ID}, []int64{1, 3, 5}},
		{"a key", petcat.AuditQuery{Key: zooKey.ID}, []int64{3, 5}},
		{"an actor", petcat.AuditQuery{Actor: "cli:bob"}, []int64{5}},
		{"an unknown actor", petcat.AuditQuery{Actor: "cli:b"}, nil},
		{"since", petcat.AuditQuery{Since: noon.Add(time.Minute)}, []int64{4, 5}},
		{"the newest", petcat.AuditQuery{Newest: 2}, []int64{4, 5}},
		{"more than all", petcat.AuditQuery{Newest: 100}, []int64{1, 2, 3, 4, 5}},
		{"all conditions", everything, []int64{5}},
		{"a key of another account", petcat.AuditQuery{Account: shop.ID, Key: zooKey.ID}, nil},
		{"an unknown account", petcat.AuditQuery{Account: 9}, nil},
	} {
		var got []int64
		err := f.EachAuditEntry(t.Context(), c.q, func(e petcat.AuditEntry) error {
			wantEqual(t, "the entry", all[e.Sequence-1], e)
			got = append(got, e.Sequence)
			return nil
		})
		wantEqual(t, c.name, c.want, must(got, err))
	}
}
