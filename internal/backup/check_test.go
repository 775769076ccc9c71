package backup

import (
	"bytes"
	"io"
	"math"
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
		"revision":                    {func(h *Header, _ []row) { h.Revision = 5 }, "category 2 has the revision 6, and the last one is 5"},
		"no revision":                 {func(_ *Header, rows []row) { rows[4].Values[3] = int64(0) }, "category 1 has the revision 0"},
		"last category at the top":    {func(h *Header, _ []row) { h.LastCategory = math.MaxInt64 }, "the number of the last category is 9223372036854775807: no number is left after it"},
		"last key at the top":         {func(h *Header, _ []row) { h.LastKey = math.MaxInt64 }, "the number of the last key is"},
		"revision at the top":         {func(h *Header, _ []row) { h.Revision = math.MaxInt64 }, "the number of the last revision is"},
		"negative revision":           {func(h *Header, _ []row) { h.AccessRevision = -1 }, "the number of the last revision of access is -1"},
		"revisions of access":         {func(h *Header, _ []row) { h.AccessRevision = 7 }, "the last revision of access, 7, is behind the last revision of all, 6"},
		"environment":                 {func(h *Header, _ []row) { h.Environment = "moon" }, `the environment is "moon"`},
		"negative quota":              {func(_ *Header, rows []row) { rows[1].Values[3] = int64(-7) }, `acct_3 is on the plan "enterprise" with the quotas -7 and 8`},
		"account's name":              {func(_ *Header, rows []row) { rows[0].Values[1] = "" }, "acct_1 breaks a rule: "},
		"text that is none":           {func(_ *Header, rows []row) { rows[2].Values[3] = "\xff" }, "label of the keys 1 is not a text in UTF-8"},
		"text with a zero":            {func(_ *Header, rows []row) { rows[2].Values[3] = "a\x00" }, "label of the keys 1 is not a text in UTF-8"},
		"idempotency key":             {func(_ *Header, rows []row) { rows[6].Values[1] = "a b" }, "an idempotency key of acct_1 breaks a rule: "},
		"count":                       {func(h *Header, _ []row) { h.Rows[Bans] = 2 }, "there are 1 bans where 2 were counted"},
		"id twice":                    {func(_ *Header, rows []row) { rows[5].Values[0] = int64(1) }, "out of order, or one is there twice"},
		"audit gap":                   {func(_ *Header, rows []row) { rows[9].Values[0] = int64(3) }, "audit entry 2 is missing: the log continues with entry 3"},
		"audit altered":               {func(_ *Header, rows []row) { rows[8].Values[2] = "cli:eve" }, "audit entry 1 does not carry the hash"},
		"plan":                        {func(_ *Header, rows []row) { rows[0].Values[3] = int64(61) }, `acct_1 is on the plan "free" with the quotas 61 and 1000`},
		"no such plan":                {func(_ *Header, rows []row) { rows[0].Values[2] = "gold" }, `acct_1 is on the plan "gold"`},
		"key's account":               {func(_ *Header, rows []row) { rows[2].Values[1] = int64(2) }, "key_1 belongs to acct_2, which does not exist"},
		"key's hash":                  {func(_ *Header, rows []row) { rows[2].Values[2] = []byte{1} }, "key_1 has a hash of 1 bytes"},
		"ban's key":                   {func(_ *Header, rows []row) { rows[3].Values[0] = int64(2) }, "a ban is of key_2, which does not exist"},
		"ban's level":                 {func(_ *Header, rows []row) { rows[3].Values[2] = int64(6) }, "the ban of key_1 has the level 6"},
		"category's creator":          {func(_ *Header, rows []row) { rows[4].Values[4] = int64(2) }, "category 1 was created by acct_2, which does not exist"},
		"category's name":             {func(_ *Header, rows []row) { rows[4].Values[1] = " " }, "category 1 breaks a rule: "},
		"idempotency without create":  {func(_ *Header, rows []row) { rows[6].Values[3] = int64(7) }, "an idempotency key of acct_1 refers to the id 7"},
		"fingerprint":                 {func(_ *Header, rows []row) { rows[6].Values[2] = []byte{} }, "a fingerprint of 0 bytes"},
		"pet behind the counter":      {func(h *Header, _ []row) { h.LastPet = 1 }, "pet 2 is behind the last id given out, 1"},
		"pet's category":              {func(_ *Header, rows []row) { rows[10].Values[2] = int64(3) }, "pet 1 is of category 3, which does not exist"},
		"pet's creator":               {func(_ *Header, rows []row) { rows[10].Values[3] = int64(2) }, "pet 1 was created by acct_2, which does not exist"},
		"pet's name":                  {func(_ *Header, rows []row) { rows[10].Values[1] = "a\nb" }, "pet 1 breaks a rule: "},
		"last pet at the top":         {func(h *Header, _ []row) { h.LastPet = math.MaxInt64 }, "the number of the last pet is"},
		"order behind the counter":    {func(h *Header, _ []row) { h.LastOrder = 0 }, "order 1 is behind the last id given out, 0"},
		"order's account":             {func(_ *Header, rows []row) { rows[12].Values[1] = int64(2) }, "order 1 was created by acct_2, which does not exist"},
		"order's pet":                 {func(_ *Header, rows []row) { rows[12].Values[2] = int64(3) }, "order 1 is of pet 3, which does not exist"},
		"order's quantity":            {func(_ *Header, rows []row) { rows[12].Values[3] = int64(1_001) }, "order 1 breaks a rule: "},
		"last order at the top":       {func(h *Header, _ []row) { h.LastOrder = math.MaxInt64 }, "the number of the last order is"},
		"day's account":               {func(_ *Header, rows []row) { rows[7].Values[1] = int64(2) }, "day 20000 is counted for acct_2"},
		"day's count":                 {func(_ *Header, rows []row) { rows[7].Values[2] = int64(-1) }, "the count of acct_1 on day 20000 is -1"},
		"usage of no account":         {func(_ *Header, rows []row) { rows[16].Values[1] = int64(2) }, "there is usage of acct_2 on day 20000, and it does not exist"},
		"negative usage":              {func(_ *Header, rows []row) { rows[16].Values[3] = int64(-2) }, "minute_refused of acct_3 on day 20000 is -2"},
		"use of no key":               {func(_ *Header, rows []row) { rows[17].Values[0] = int64(2) }, "key_2 was used, and does not exist"},
		"audit swapped": {func(_ *Header, rows []row) {
			rows[8].Values, rows[9].Values = rows[9].Values, rows[8].Values
			rows[8].Values[0], rows[9].Values[0] = int64(1), int64(2)
		}, "audit entry 1 was written as entry 2: entries were reordered"},
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

// TestStrictReaderRefusesEveryFault: what a checker finds, a restore does not take.
func TestStrictReaderRefusesEveryFault(t *testing.T) {
	read := func(h Header, rows []row) error {
		r, err := NewReader(bytes.NewReader(write(t, h, rows)))
		if err != nil {
			return err
		}
		defer r.Close()
		r.Strict = true
		return r.CopyTo(&recorder{})
	}
	h, rows := sample()
	if err := read(h, rows); err != nil {
		t.Fatalf("without faults: %v", err)
	}
	rows[0].Values[3] = int64(-60)
	wantError(t, "a negative quota", read(h, rows), Faulty)
	h, rows = sample()
	rows[8].Values[2] = "cli:eve"
	wantError(t, "an altered audit entry", read(h, rows), Faulty)
	h, rows = sample()
	h.LastCategory = math.MaxInt64
	wantError(t, "the last id", read(h, rows), Faulty)
	h.Rows = map[Kind]int64{}
	wantError(t, "the last id, and no rows", read(h, nil), Faulty)
}

// counting is a sink that keeps nothing.
type counting struct{ rows int }

func (c *counting) Begin(Header) error    { return nil }
func (c *counting) Row(Kind, []any) error { c.rows++; return nil }

// TestReaderStopsAtTheFirstRowThatCannotBe: a small file may hold millions of equal
// rows, or more rows than it says.
func TestReaderStopsAtTheFirstRowThatCannotBe(t *testing.T) {
	const many = 100_000
	h, rows := sample()
	h.Rows = map[Kind]int64{Categories: many}
	equal := make([]row, many)
	for i := range equal {
		equal[i] = rows[4]
	}
	var got counting
	wantError(t, "equal rows", tell(bytes.NewReader(write(t, h, equal)), &got), Damaged)
	if got.rows != 1 {
		t.Errorf("%d of equal rows were told", got.rows)
	}

	var file bytes.Buffer
	w := NewWriter(&file, "")
	h.Rows = map[Kind]int64{Categories: 1}
	if err := w.Begin(h); err != nil {
		t.Fatal(err)
	}
	for _, r := range rows[4:6] {
		if err := w.Row(r.Kind, r.Values); err != nil {
			t.Fatal(err)
		}
	}
	w.header.Rows = w.rows // what was written says 1
	if _, _, err := w.Finish(); err != nil {
		t.Fatal(err)
	}
	got = counting{}
	wantError(t, "more rows than it says", tell(io.Reader(&file), &got), Damaged)
	if got.rows != 1 {
		t.Errorf("%d rows were told", got.rows)
	}
}

// TestIDSetIsBounded: ids with a gap after each take no more memory than so many.
func TestIDSetIsBounded(t *testing.T) {
	var s idSet
	for id := int64(1); id < 3*maxRanges; id += 2 {
		s.add(id)
	}
	if len(s.ranges) > maxRanges {
		t.Errorf("%d ranges", len(s.ranges))
	}
	for _, id := range []int64{1, 3, 3*maxRanges - 1} {
		if !s.has(id) {
			t.Errorf("%d is missing", id)
		}
	}
	if s.has(2) || s.has(0) || s.has(4*maxRanges) {
		t.Error("there are ids that were never added")
	}
}
