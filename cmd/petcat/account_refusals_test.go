package main

import (
	"strings"
	"testing"
	"time"

	"petcat"
)

// TestPrintRefusals: what people see of a refusal, and of a failure of which little is
// known.
func TestPrintRefusals(t *testing.T) {
	at := time.Date(2027, 3, 4, 12, 0, 0, 5e6, time.UTC)
	var out strings.Builder
	p := &program{stdout: &out}
	must(t, p.printRefusals([]petcat.Refusal{
		{
			At: at, RequestID: "abc-1", Key: 3, Operation: petcat.OpCreateCategory, Status: 429, Code: petcat.CodeDailyQuotaExceeded,
			Minute: petcat.Spent{Used: 4, Limit: 60}, Day: petcat.Spent{Used: 1_000, Limit: 1_000}, Until: at.Truncate(time.Hour).Add(12 * time.Hour),
		},
		{At: at, RequestID: "abc-2", Key: 3, Status: 503, Code: petcat.CodeServiceUnavailable},
	}))
	want := `AT                        REQUEST ID  KEY    OPERATION       STATUS  CODE                  MINUTE   DAY           UNTIL
2027-03-04T12:00:00.005Z  abc-1       key_3  createCategory  429     daily_quota_exceeded  4 of 60  1000 of 1000  2027-03-05T00:00:00Z
2027-03-04T12:00:00.005Z  abc-2       key_3  -               503     service_unavailable   -        -             -
`
	if got := out.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
