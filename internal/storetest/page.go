package storetest

import (
	"testing"
	"time"

	"github.com/petcat-api/petcat"
)

func testPages(t *testing.T, open Open) {
	t.Run("accounts", func(t *testing.T) { testAccountPages(t, open) })
	t.Run("keys", func(t *testing.T) { testKeyPages(t, open) })
	t.Run("bans", func(t *testing.T) { testBanPages(t, open) })
	t.Run("audit entries", func(t *testing.T) { testAuditPages(t, open) })
}

func testAccountPages(t *testing.T, open Open) {
	f := start(t, open)
	for _, name := range []string{"zoo", "Acme", "acme 2", "ÄRA", "ära", "a%b", "acme", "b"} {
		f.account(t, name)
	}
	must(f.CloseAccount(t.Context(), petcat.By(operator), 2))
	f.account(t, "Acme")
	// pages reads all pages.
	pages := func(prefix string, limit int) (names []string) {
		t.Helper()
		q := petcat.AccountQuery{Prefix: prefix, Limit: limit}
		for {
			page := must(f.AccountPage(t.Context(), q))
			if len(page) > limit {
				t.Fatalf("got a page of %d, want at most %d", len(page), limit)
			}
			for _, a := range page {
				names = append(names, a.ID.String()+" "+a.Name)
				q.After = petcat.AccountCursor{Name: a.Name, ID: a.ID}
			}
			if len(page) < limit {
				return names
			}
		}
	}
	all := []string{
		"acct_6 a%b", "acct_2 Acme", "acct_7 acme", "acct_9 Acme", "acct_3 acme 2",
		"acct_8 b", "acct_1 zoo", "acct_4 ÄRA", "acct_5 ära",
	}
	for limit := range len(all) + 1 {
		wantEqual(t, "all accounts", all, pages("", limit+1))
		wantEqual(t, "accounts by prefix", all[1:5], pages("aCM", limit+1))
	}
	wantEqual(t, "accounts that begin with ä", all[8:], pages("ä", 10))
	wantEqual(t, "accounts that begin with ä as two characters", all[8:], pages("a\u0308", 10))
	wantEqual(t, "accounts that begin with Ä", all[7:8], pages("Ä", 10))
	wantEqual(t, "accounts that begin with a%", all[:1], pages("A%", 10))
	wantEqual(t, "accounts that begin with x", 0, len(pages("x", 10)))
	must(f.EditAccount(t.Context(), petcat.By(operator), 7, petcat.EditPlan(subscription(t, "pro", 0, 0))))
	pro := must(f.AccountPage(t.Context(), petcat.AccountQuery{Prefix: "a", Plan: petcat.Pro, Limit: 9}))
	wantEqual(t, "accounts on a plan", "acme", pro[0].Name)
	wantEqual(t, "number of accounts", 1, len(pro))

	k, _ := f.key(t, 7, 1)
	gone, _ := f.key(t, 7, 2)
	must(f.ChangeKey(t.Context(), petcat.By(operator), gone.ID, petcat.RevokeKey))
	for i, key := range []petcat.KeyID{k.ID, gone.ID} {
		b := petcat.Ban{
			Key:       key,
			Account:   7,
			Level:     1,
			StartedAt: noon,
			EndsAt:    noon.Add(time.Minute),
			Shadow:    i == 1,
		}
		if err := f.SaveBan(t.Context(), b); err != nil {
			t.Fatal(err)
		}
	}
	counts := petcat.UsageCounts{Requests: 5, DayRejected: 3, Failed: 1}
	u := batch("a", 1, f.now(), petcat.UsageCount{Account: 7, UsageCounts: counts})
	u.Keys = []petcat.KeyUse{{Key: k.ID, At: noon}}
	f.addUsage(t, u)
	idle := must(f.FindAccount(t.Context(), "acct_6"))
	got, err := f.AccountSummaries(t.Context(), []petcat.AccountID{7, 6})
	wantEqual(t, "summaries", []petcat.AccountSummary{
		{Account: pro[0], Keys: 1, Bans: 1, UsedAt: noon, Today: 5, Rejected: 3},
		{Account: idle},
	}, must(got, err))
}

func testKeyPages(t *testing.T, open Open) {
	f := start(t, open)
	a, other := f.account(t, "zoo"), f.account(t, "shop")
	var want []petcat.Key
	for i := range uint64(5) {
		k, _ := f.key(t, a.ID, 2*i)
		f.key(t, other.ID, 2*i+1)
		want = append([]petcat.Key{k}, want...)
	}
	first := must(f.KeyPage(t.Context(), petcat.KeyQuery{Account: a.ID, Limit: 3}))
	wantEqual(t, "the first page", want[:3], first)
	second := must(f.KeyPage(t.Context(), petcat.KeyQuery{
		Account: a.ID,
		Before:  first[2].ID,
		Limit:   3,
	}))
	wantEqual(t, "the second page", want[3:], second)
	hinted := must(f.KeyPage(t.Context(), petcat.KeyQuery{Hint: want[1].Hint, Limit: 3}))
	wantEqual(t, "by hint", want[1:2], hinted)
	f.run(t, `UPDATE api_keys SET hint = $1 WHERE id = $2`, want[1].Hint, want[3].ID)
	want[3].Hint = want[1].Hint
	next := must(f.KeyPage(t.Context(), petcat.KeyQuery{
		Hint:   want[1].Hint,
		Before: want[1].ID,
		Limit:  3,
	}))
	wantEqual(t, "the next page by hint", want[3:4], next)
}

func testBanPages(t *testing.T, open Open) {
	f := start(t, open)
	a, other := f.account(t, "zoo"), f.account(t, "shop")
	var bans []petcat.Ban
	for i := range uint64(6) {
		of := a.ID
		if i == 5 {
			of = other.ID
		}
		k, _ := f.key(t, of, i)
		b := petcat.Ban{
			Key:       k.ID,
			Account:   of,
			Level:     2,
			StartedAt: noon,
			EndsAt:    noon.Add(time.Hour),
			Shadow:    i == 1,
		}
		if i == 2 {
			b.EndsAt = noon.Add(time.Minute)
		}
		if err := f.SaveBan(t.Context(), b); err != nil {
			t.Fatal(err)
		}
		bans = append(bans, b)
	}
	f.clock.Advance(time.Minute)
	lifted := must(f.LiftBan(t.Context(), petcat.By(operator), bans[3].Key)).Value
	bans[3] = lifted
	page := func(q petcat.BanQuery) []petcat.Ban {
		t.Helper()
		return must(f.BanPage(t.Context(), q))
	}
	wantEqual(t, "all bans", bans, page(petcat.BanQuery{Limit: 10}))
	active := []petcat.Ban{bans[0], bans[1], bans[4], bans[5]}
	wantEqual(t, "active bans", active, page(petcat.BanQuery{Active: f.now(), Limit: 10}))
	q := petcat.BanQuery{Active: f.now(), Account: a.ID, Limit: 2}
	wantEqual(t, "active bans of an account, the first two", active[:2], page(q))
	q.After = bans[1].Key
	wantEqual(t, "the next page", active[2:3], page(q))
}

func testAuditPages(t *testing.T, open Open) {
	f := start(t, open)
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		f.account(t, name)
	}
	all := f.audit(t)
	page := func(before int64) []petcat.AuditEntry {
		t.Helper()
		return collect(t, func(fn func(petcat.AuditEntry) error) error {
			return f.EachAuditEntry(t.Context(), petcat.AuditQuery{Before: before, Newest: 2}, fn)
		})
	}
	wantEqual(t, "the newest", all[3:], page(0))
	wantEqual(t, "the previous entries", all[1:3], page(4))
	wantEqual(t, "the oldest", all[:1], page(2))
	newest := must(f.AuditPage(t.Context(), petcat.AuditQuery{Before: 4, Newest: 2}))
	wantEqual(t, "a page, newest first", []petcat.AuditEntry{all[2], all[1]}, newest)
}
