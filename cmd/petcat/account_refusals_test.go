package main

import (
	"strings"
	"testing"
	"time"

	"petcat"
)

// TestPrintRefusals: what people see of refusals, and of failures of which little is known.
func TestPrintRefusals(t *testing.T) {
	at := time.Date(2027, 3, 4, 12, 0, 0, 0, time.UTC)
	var out strings.Builder
	p := &program{stdout: &out}
	must(t, p.printRefusals([]petcat.Refusal{
		{
			Key: 3, Operation: petcat.OpCreateCategory, Code: petcat.CodeDailyQuotaExceeded, Count: 17, First: at.Add(-time.Hour), Last: at, RequestID: "abc-1", Status: 429,
			Minute: petcat.Spent{Used: 4, Limit: 60}, Day: petcat.Spent{Used: 1_000, Limit: 1_000}, Until: at.Add(12 * time.Hour),
		},
		{Key: 3, Code: petcat.CodeServiceUnavailable, Count: 1, First: at, Last: at, RequestID: "abc-2", Status: 503},
	}))
	want := `LAST                  COUNT  FIRST                 KEY    OPERATION       STATUS  CODE                  MINUTE   DAY           UNTIL                 LAST REQUEST ID
2027-03-04T12:00:00Z  17     2027-03-04T11:00:00Z  key_3  createCategory  429     daily_quota_exceeded  4 of 60  1000 of 1000  2027-03-05T00:00:00Z  abc-1
2027-03-04T12:00:00Z  1      2027-03-04T12:00:00Z  key_3  -               503     service_unavailable   -        -             -                     abc-2
`
	if got := out.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
