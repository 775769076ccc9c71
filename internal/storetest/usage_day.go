package storetest

import (
	"math/rand/v2"
	"testing"
	"time"

	"petcat"
	"petcat/internal/clock"
)

// FillUsageDay writes a day in which each of so many accounts is used in every hour, as a
// node does, and has it folded. After each hour, it calls folded.
func FillUsageDay(t *testing.T, s Store, c *clock.Manual, accounts int, folded func()) {
	t.Helper()
	random := rand.New(rand.NewPCG(1, 2))
	c.Advance(12 * time.Hour) // to midnight
	var number int64
	for hour := range 24 {
		number++
		at := noon.Add(12*time.Hour + time.Duration(hour)*time.Hour + 30*time.Minute)
		b := batch("a", number, at)
		for a := range accounts {
			// With 100,000 accounts, 2,800 requests a second all day long.
			n := 1 + random.Int64N(200)
			refused := max(0, random.Int64N(300)-270)
			b.Counts = append(b.Counts, petcat.UsageCount{
				Account: petcat.AccountID(a + 1), Minute: petcat.Minute.Index(at.Unix()),
				UsageCounts: petcat.UsageCounts{Requests: n, MinuteRefused: refused, Bytes: n * random.Int64N(10_000)},
			})
		}
		if err := s.AddUsage(t.Context(), b); err != nil {
			t.Fatal(err)
		}
		c.Advance(time.Hour)
		if err := s.Clean(t.Context()); err != nil {
			t.Fatal(err)
		}
		folded()
	}
	c.Advance(3 * time.Hour)
	if err := s.Clean(t.Context()); err != nil {
		t.Fatal(err)
	}
	f := &fixture{Store: s, clock: c}
	wantEqual(t, "the hours of an account", 24, len(f.usage(t, s, petcat.UsageQuery{Account: 1, Step: petcat.UsageByHour}).Periods))
	wantEqual(t, "what is left by the minute", 0, len(f.usage(t, s, petcat.UsageQuery{Account: 1, Step: petcat.UsageByMinute}).Periods))
}

// UsageStart is when the clock of FillUsageDay stands at its beginning.
func UsageStart() time.Time { return noon }

// MaxUsageDay is how much a day of 100,000 accounts may take, in bytes.
const MaxUsageDay = 50 << 20
