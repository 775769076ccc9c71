package petcat_test

import (
	"testing"
	"time"

	"github.com/petcat-api/petcat"
)

func TestCheckCustomerKeys(t *testing.T) {
	t.Parallel()
	const invalid = petcat.CodeInvalidField
	for n, want := range map[int64]petcat.Code{0: "", 99: "", 100: invalid, 5_000: invalid} {
		if got := petcat.CodeOf(petcat.CheckCustomerKeys(n)); got != want {
			t.Errorf("%d keys: %q, want %q", n, got, want)
		}
	}
}

func TestCheckCustomerChanges(t *testing.T) {
	t.Parallel()
	now := time.Date(2027, 3, 14, 12, 0, 0, 0, time.UTC)
	if err := petcat.CheckCustomerChanges(time.Time{}, now); err != nil {
		t.Errorf("with few changes: %v", err)
	}
	if err := petcat.CheckCustomerChanges(now.Add(-24*time.Hour), now); err != nil {
		t.Errorf("a day after the first one: %v", err)
	}
	e := petcat.Public(petcat.CheckCustomerChanges(now.Add(-23*time.Hour), now))
	const want = "an account makes at most 1000 changes per day; the next one is possible from 2027-03-14T13:00:01Z"
	if e.Code != petcat.CodeTooManyChanges || e.Message != want || e.RetryAfter != time.Hour {
		t.Errorf("%s, %q, after %s", e.Code, e.Message, e.RetryAfter)
	}
}
