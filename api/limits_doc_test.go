package api_test

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"petcat"
	"petcat/internal/clock"
	"petcat/internal/httpapi"
	"petcat/internal/ratelimit"
)

// exampleRow is a row of the table "A day, as an example" in docs/limits.md.
type exampleRow struct {
	at          time.Time
	minute, day int64 // used after the request
	answer      string
}

// exampleKey is the key whose jitter after a spent day the document shows.
const exampleKey petcat.KeyID = 7

// TestLimitsExampleIsTrue replays the example of docs/limits.md against the
// limiter and compares every number.
func TestLimitsExampleIsTrue(t *testing.T) {
	rows := readExample(t)
	if len(rows) != 7 {
		t.Fatalf("the example has %d rows; did its form change?", len(rows))
	}
	manual := clock.NewManual(rows[0].at)
	limiter := ratelimit.NewMemory(ratelimit.Options{Clock: ratelimit.NewClock(manual), Days: newDays()})
	t.Cleanup(func() {
		if err := limiter.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	free, _ := petcat.Free.Quota()
	now := rows[0].at
	moveTo := func(at time.Time) { manual.Advance(at.Sub(now)); now = at }
	spend := func() ratelimit.Decision {
		t.Helper()
		d, err := limiter.Spend(t.Context(), ratelimit.Charge{Account: 1, Key: exampleKey, Quota: free})
		if err != nil {
			t.Fatal(err)
		}
		return d
	}

	used := int64(0)
	for _, row := range rows {
		// What happened between the rows was spread over minutes of its own.
		for used < row.day-row.minute {
			moveTo(now.Truncate(time.Minute).Add(time.Minute))
			for range min(free.PerMinute, row.day-row.minute-used) {
				spend()
				used++
			}
		}
		moveTo(row.at)
		d := spend()
		for ; d.Verdict == ratelimit.Admitted && used+1 < row.day; used++ {
			d = spend()
		}
		if d.Verdict == ratelimit.Admitted {
			used++
		}
		if diff := cmp.Diff(describe(row, d), row.answer); diff != "" {
			t.Errorf("%s (-limiter +document):\n%s", row.at.Format(time.TimeOnly), diff)
		}
	}
}

// describe writes a decision as the document's columns do.
func describe(row exampleRow, d ratelimit.Decision) string {
	status, retryAfter := "200", ""
	if d.Verdict != ratelimit.Admitted {
		status, retryAfter = "429", strconv.FormatInt(d.RetryAfter, 10)
	}
	return fmt.Sprintf("%s|%d, %d|%s|%d|%d|%d|`%s`|%s", row.at.Format(time.TimeOnly),
		d.Minute.Limit-d.Minute.Remaining, d.Day.Limit-d.Day.Remaining, status,
		d.Effective.Limit, d.Effective.Remaining, d.Effective.Reset, httpapi.AppendRateLimit(nil, d), retryAfter)
}

func readExample(t *testing.T) []exampleRow {
	t.Helper()
	begin := regexp.MustCompile(`^\| \d\d:\d\d:\d\d \| (\d+), (\d+) \|`)
	var rows []exampleRow
	for line := range strings.Lines(string(readFile(t, "../docs/limits.md"))) {
		m := begin.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		var cells []string
		for cell := range strings.SplitSeq(strings.Trim(strings.TrimSpace(line), "|"), "|") {
			cells = append(cells, strings.TrimSpace(cell))
		}
		at, err := time.Parse(time.DateTime, "2026-01-15 "+cells[0])
		if err != nil {
			t.Fatal(err)
		}
		row := exampleRow{at: at, answer: strings.Join(cells, "|")}
		row.minute, _ = strconv.ParseInt(m[1], 10, 64)
		row.day, _ = strconv.ParseInt(m[2], 10, 64)
		rows = append(rows, row)
	}
	return rows
}

// days is a store of one account's one day.
type days struct {
	petcat.DayStore
	count chan int64 // holds the count; taken while in use
}

func newDays() days {
	d := days{count: make(chan int64, 1)}
	d.count <- 0
	return d
}

func (d days) LeaseDays(_ context.Context, _ petcat.DayCall, asks []petcat.DayLease) ([]petcat.DayLeased, error) {
	count := <-d.count
	defer func() { d.count <- count }()
	granted := make([]petcat.DayLeased, len(asks))
	for i, a := range asks {
		n := min(a.Want, a.Quota-count)
		count += n
		granted[i] = petcat.DayLeased{Granted: n, Count: count}
	}
	return granted, nil
}

func (d days) ReturnDays(_ context.Context, _ petcat.DayCall, returns []petcat.DayReturn) error {
	count := <-d.count
	for _, r := range returns {
		count -= r.Unused
	}
	d.count <- count
	return nil
}

func (d days) DayCount(context.Context, petcat.AccountID, int64) (int64, error) {
	count := <-d.count
	d.count <- count
	return count, nil
}
