package storetest

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/store"
)

// eventLines returns the types and data of all events, whose ids must be 1, 2, 3 and so on.
func (f *fixture) eventLines(t *testing.T) (lines []string) {
	t.Helper()
	lines = []string{}
	for i, e := range must(f.Events(t.Context(), petcat.EventQuery{Limit: petcat.MaxPage})) {
		wantEqual(t, "the event's id", petcat.EventID(i+1), e.ID)
		lines = append(lines, string(e.Type)+" "+e.Data)
	}
	newest := must(f.NewestEvent(t.Context()))
	wantEqual(t, "the newest event", petcat.EventID(len(lines)), newest)
	return lines
}

// testEvents: a change writes its event in the same transaction, and a change without effect writes none.
func testEvents(t *testing.T, open Open) {
	f := start(t, open)
	by := petcat.By(operator)
	a := f.account(t, "zoo")
	first, _ := f.key(t, a.ID, 1)
	rotation, _, err := generator(2).Rotation(first.ID, time.Hour)
	must(f.RotateKey(t.Context(), by, must(rotation, err)))
	for range 2 {
		must(f.ChangeKey(t.Context(), by, first.ID, petcat.RevokeKey))
		must(f.RequestPlan(t.Context(), by, must(petcat.ParseNewPlanRequest(a.ID, "pro", "we grow"))))
	}
	must(f.ApprovePlanRequest(t.Context(), by, petcat.PlanApproval{Request: 1}))
	for _, shadow := range []bool{true, false} {
		f.clock.Advance(time.Second)
		ban := petcat.Ban{
			Key:       2,
			Account:   a.ID,
			Level:     1,
			StartedAt: f.now(),
			EndsAt:    f.now(),
			Shadow:    shadow,
		}
		must(0, f.SaveBan(t.Context(), ban))
	}
	must(f.CloseAccount(t.Context(), by, a.ID))
	wantEqual(t, "events", []string{
		`key.created {"account":"acct_1","hint":"` + first.Hint + `","key":"key_1","label":"key 1"}`,
		`key.created {"account":"acct_1","hint":"` + rotation.Generated().Hint + `","key":"key_2","label":"key 1"}`,
		`key.revoked {"account":"acct_1","expires_at":"2027-03-04T13:00:00Z",` +
			`"hint":"` + first.Hint + `","key":"key_1","label":"key 1","successor":"key_2"}`,
		`plan.requested {"account":"acct_1","note":"we grow","plan":"pro","request":1}`,
		`plan.changed {"account":"acct_1","from":"free","max_bytes":20971520,"max_categories":100000,` +
			`"per_day":10000,"per_minute":300,"plan":"pro"}`,
		`key.banned {"account":"acct_1","early_retries":0,"ends_at":"2027-03-04T12:00:02Z",` +
			`"key":"key_2","level":1,"shadow":false}`,
		`key.revoked {"account":"acct_1","hint":"` + rotation.Generated().Hint + `","key":"key_2","label":"key 1"}`,
	}, f.eventLines(t))
	page := must(f.Events(t.Context(), petcat.EventQuery{After: 5, Limit: 1}))
	wantEqual(t, "a page", petcat.EventID(6), page[0].ID)
	wantEqual(t, "its length", 1, len(page))
	wantEqual(t, "its time", f.now(), page[0].At)
	wantEqual(t, "after the last", 0, len(must(f.Events(t.Context(), petcat.EventQuery{After: 7, Limit: 1}))))
	_, err = f.Events(t.Context(), petcat.EventQuery{After: 8, Limit: 1}) // of data before a restore
	wantCode(t, err, petcat.CodeCursorExpired)
}

// testNotedEvents: whatever notes a mark, on however many nodes, it is one event; another day has its own.
func testNotedEvents(t *testing.T, open Open) {
	f := start(t, open)
	nodes := []*store.Store{f.Store, f.another(t), f.another(t)}
	var all sync.WaitGroup
	for i := range 24 {
		all.Go(func() {
			mark := petcat.QuotaMark{Account: 1, Day: 20_000, Percent: 80, Used: 800, Limit: 1_000}
			if err := nodes[i%len(nodes)].NoteQuotaMark(t.Context(), mark); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	for _, day := range []int64{20_000, 20_001} {
		mark := petcat.QuotaMark{Account: 1, Day: day, Percent: 100, Used: 1_000, Limit: 1_000}
		must(0, f.NoteQuotaMark(t.Context(), mark))
	}
	must(0, f.NoteFailedBackup(t.Context(), "web-1"))
	wantEqual(t, "events", []string{
		`quota.warning {"account":"acct_1","limit":1000,"percent":80,"resets_at":"2024-10-05T00:00:00Z","used":800}`,
		`quota.exhausted {"account":"acct_1","limit":1000,"percent":100,"resets_at":"2024-10-05T00:00:00Z","used":1000}`,
		`quota.exhausted {"account":"acct_1","limit":1000,"percent":100,"resets_at":"2024-10-06T00:00:00Z","used":1000}`,
		`backup.failed {"host":"web-1"}`,
	}, f.eventLines(t))
}

// testExpiringKeys: operators are notified 14, 3 and 1 days before a key expires, not of a key that was
// created later than that, and again for another expiry.
func testExpiringKeys(t *testing.T, open Open) {
	const day = 24 * time.Hour
	f := start(t, open)
	a := f.account(t, "zoo")
	long, _ := f.keyOn(t, a.ID, 1, petcat.KeyTerms{ExpiresAt: noon.Add(20 * day), ReadOnly: true})
	f.keyOn(t, a.ID, 2, petcat.KeyTerms{ExpiresAt: noon.Add(2 * time.Hour)})
	rotated, _ := f.key(t, a.ID, 3)
	revoked, _ := f.keyOn(t, a.ID, 4, petcat.KeyTerms{ExpiresAt: noon.Add(20 * day)})
	must(f.ChangeKey(t.Context(), petcat.By(operator), revoked.ID, petcat.RevokeKey))
	before := len(f.eventLines(t))
	told := func(want int) {
		t.Helper()
		for _, s := range []*store.Store{f.Store, f.another(t)} {
			must(0, s.NoteExpiringKeys(t.Context()))
		}
		lines := f.eventLines(t)
		wantEqual(t, "events of keys that expire", want, len(lines)-before)
	}
	told(0)
	f.clock.Advance(6*day - 1)
	told(0)
	f.clock.Advance(time.Millisecond)
	told(1)
	f.clock.Advance(11 * day)
	told(2)
	f.clock.Advance(2 * day)
	told(3)
	f.clock.Advance(day)
	told(3)
	line := `key.expiring {"account":"acct_1","expires_at":"2027-03-24T12:00:00Z",` +
		`"hint":"` + long.Hint + `","key":"key_1","label":"key 1","read_only":true}`
	wantEqual(t, "events", []string{line, line, line}, f.eventLines(t)[before:])
	later := f.now().Add(2 * time.Hour)
	edit := must(petcat.ParseKeyEdit(nil, &later, nil))
	must(f.EditKey(t.Context(), petcat.By(operator), long.ID, edit))
	told(4)
	rotation, _, err := generator(9).Rotation(rotated.ID, time.Hour)
	must(f.RotateKey(t.Context(), petcat.By(operator), must(rotation, err)))
	told(6) // of its successor, and of its end
	lines := f.eventLines(t)
	wantEqual(t, "the event of a rotated key",
		`key.expiring {"account":"acct_1","expires_at":"2027-03-24T13:00:00Z",`+
			`"hint":"`+rotated.Hint+`","key":"key_3","label":"key 3","successor":"key_5"}`,
		lines[len(lines)-1])
}

// testCategoryEvents: category changes are reported at most once per minute, and only if there are any.
func testCategoryEvents(t *testing.T, open Open) {
	f := start(t, open)
	other := f.another(t)
	cursor := func(r petcat.Revision) string { return fmt.Sprint("after-", int64(r)) }
	told := func(want int) {
		t.Helper()
		for _, s := range []*store.Store{f.Store, other} {
			must(0, s.NoteCategoryChanges(t.Context(), cursor))
		}
		wantEqual(t, "events", want, len(f.eventLines(t)))
	}
	create := func() {
		t.Helper()
		must(f.CreateCategory(t.Context(), petcat.CreateCategory{
			Account: 1,
			New:     category(t, "Dogs", nil),
		}))
	}
	told(0)
	create()
	told(1)
	create()
	f.clock.Advance(time.Minute - time.Millisecond)
	told(1)
	f.clock.Advance(time.Millisecond)
	told(2)
	f.clock.Advance(time.Hour)
	told(2)
	wantEqual(t, "events", []string{
		`categories.changed {"cursor":"after-1"}`,
		`categories.changed {"cursor":"after-2"}`,
	}, f.eventLines(t))
}
