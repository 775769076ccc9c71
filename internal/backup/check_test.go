package backup

import (
	"slices"
	"strings"
	"testing"
)

// check returns what a checker finds.
func check(t *testing.T, h Header, rows []row) []string {
	t.Helper()
	var c Checker
	if err := c.Begin(h); err != nil {
		t.Fatal(err)
	}
	for _, r := range rows {
		if err := c.Row(r.Kind, r.Values); err != nil {
			t.Fatal(err)
		}
	}
	return c.Findings()
}

func TestCheckerIsContentWithTheSample(t *testing.T) {
	h, rows := sample()
	if found := check(t, h, rows); len(found) > 0 {
		t.Errorf("found %q", found)
	}
}

// TestCheckerFindsEveryFault plants one fault at a time.
func TestCheckerFindsEveryFault(t *testing.T) {
	for name, c := range map[string]struct {
		plant func(h *Header, rows []row)
		want  string
	}{
		"account behind the counter":  {func(h *Header, _ []row) { h.LastAccount = 2 }, "acct_3 is behind the last id given out, acct_2"},
		"key behind the counter":      {func(h *Header, _ []row) { h.LastKey = 0 }, "key_1 is behind the last id given out, key_0"},
		"category behind the counter": {func(h *Header, _ []row) { h.LastCategory = 1 }, "category 2 is behind the last id given out, 1"},
		"access revision":             {func(h *Header, _ []row) { h.AccessRevision = 3 }, "key_1 has the revision 4, and the last one of its kind is 3"},
		"revision":                    {func(h *Header, _ []row) { h.Revision = 5 }, "category 2 has the revision 6 after 5, and the last one is 5"},
		"revisions out of order":      {func(_ *Header, rows []row) { rows[4].Values[3] = int64(6) }, "category 2 has the revision 6 after 6"},
		"count":                       {func(h *Header, _ []row) { h.Rows[Bans] = 2 }, "there are 1 bans where 2 were counted"},
		"id twice":                    {func(_ *Header, rows []row) { rows[5].Values[0] = int64(1) }, "out of order, or one is there twice"},
		"audit gap":                   {func(_ *Header, rows []row) { rows[9].Values[0] = int64(3) }, "audit entry 3 follows 1"},
		"audit altered":               {func(_ *Header, rows []row) { rows[8].Values[2] = "cli:eve" }, "audit entry 1 does not carry the hash"},
		"plan":                        {func(_ *Header, rows []row) { rows[0].Values[3] = int64(61) }, `acct_1 is on the plan "free" with the quotas 61 and 1000`},
		"no such plan":                {func(_ *Header, rows []row) { rows[0].Values[2] = "gold" }, `acct_1 is on the plan "gold"`},
		"key's account":               {func(_ *Header, rows []row) { rows[2].Values[1] = int64(2) }, "key_1 belongs to acct_2, which is not there"},
		"key's hash":                  {func(_ *Header, rows []row) { rows[2].Values[2] = []byte{1} }, "key_1 has a hash of 1 bytes"},
		"ban's key":                   {func(_ *Header, rows []row) { rows[3].Values[0] = int64(2) }, "a ban is of key_2, which is not there"},
		"ban's level":                 {func(_ *Header, rows []row) { rows[3].Values[2] = int64(6) }, "the ban of key_1 has the level 6"},
		"category's creator":          {func(_ *Header, rows []row) { rows[4].Values[4] = int64(2) }, "category 1 was created by acct_2, which is not there"},
		"category's name":             {func(_ *Header, rows []row) { rows[4].Values[1] = " " }, "category 1 breaks a rule: "},
		"idempotency without create":  {func(_ *Header, rows []row) { rows[6].Values[3] = int64(7) }, "an idempotency key of acct_1 stands for category 7"},
		"fingerprint":                 {func(_ *Header, rows []row) { rows[6].Values[2] = []byte{} }, "a fingerprint of 0 bytes"},
		"day's account":               {func(_ *Header, rows []row) { rows[7].Values[1] = int64(2) }, "day 20000 is counted for acct_2"},
		"day's count":                 {func(_ *Header, rows []row) { rows[7].Values[2] = int64(-1) }, "the count of acct_1 on day 20000 is -1"},
	} {
		t.Run(name, func(t *testing.T) {
			h, rows := sample()
			c.plant(&h, rows)
			found := check(t, h, rows)
			if !slices.ContainsFunc(found, func(s string) bool { return strings.Contains(s, c.want) }) {
				t.Errorf("found %q, want %q", found, c.want)
			}
		})
	}
}

func TestCheckerTellsAFewOfManyFaults(t *testing.T) {
	h, _ := sample()
	h.Rows = map[Kind]int64{DayCounts: 1_000}
	var rows []row
	for day := range int64(1_000) {
		rows = append(rows, row{DayCounts, []any{day, int64(1), int64(1)}})
	}
	found := check(t, h, rows)
	if len(found) != maxFindings+1 || found[maxFindings] != "there are 980 more faults of such kinds" {
		t.Errorf("found %d: %q", len(found), found[len(found)-1])
	}
}
