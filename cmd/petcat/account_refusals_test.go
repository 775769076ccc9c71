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

// TestRefusalByShare: it is not told that the quota was used up, nor how much of it was.
func TestRefusalByShare(t *testing.T) {
	at := time.Date(2027, 3, 4, 12, 0, 0, 5e6, time.UTC)
	r := petcat.Refusal{
		At: at, RequestID: "abc-1", Key: 3, Operation: petcat.OpListCategories, Status: 429, Code: petcat.CodeRateLimitExceeded,
		Minute: petcat.Spent{Limit: 60}, Day: petcat.Spent{Used: 20, Limit: 1_000}, ByShare: true, Until: at.Truncate(time.Minute).Add(time.Minute),
	}
	var out strings.Builder
	p := &program{stdout: &out}
	must(t, p.printRefusals([]petcat.Refusal{r}))
	want := `AT                        REQUEST ID  KEY    OPERATION       STATUS  CODE                 MINUTE       DAY         UNTIL
2027-03-04T12:00:00.005Z  abc-1       key_3  listCategories  429     rate_limit_exceeded  share of 60  20 of 1000  2027-03-04T12:01:00Z

Share: a node admitted its share of the minute, and the rest of the quota was kept for other nodes, because the nodes could not count together.
`
	if got := out.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	out.Reset()
	must(t, p.printJSON(recentRefusalDocument(r)))
	want = `{
  "at": "2027-03-04T12:00:00.005Z",
  "request_id": "abc-1",
  "key": "key_3",
  "operation": "listCategories",
  "status": 429,
  "code": "rate_limit_exceeded",
  "reason": "share",
  "minute": {
    "used": null,
    "limit": 60
  },
  "day": {
    "used": 20,
    "limit": 1000
  },
  "until": "2027-03-04T12:01:00Z"
}
`
	if got := out.String(); got != want {
		t.Errorf("as JSON, got\n%s\nwant\n%s", got, want)
	}
}
