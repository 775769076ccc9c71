package management_test

import (
	"testing"

	"github.com/petcat-api/petcat"
)

// counts are a part of the usage counts as the API shows them.
type counts struct {
	Requests       int64
	MinuteRejected int64 `json:"minute_rejected"`
}

// addUsage adds 7 requests and 3 rejections of the account acct_1 and its key, and 8 and 4 of all
// accounts together.
func (s *service) addUsage() {
	s.t.Helper()
	must(s.t, s.store.AddUsage(s.t.Context(), petcat.UsageBatch{
		Node:   "a",
		Number: 1,
		SeenAt: noon,
		Counts: []petcat.UsageCount{
			{
				Account:     1,
				Hour:        noon.Unix() / 3600,
				UsageCounts: petcat.UsageCounts{Requests: 7, MinuteRejected: 3},
				Detail: []petcat.UsageDetail{
					{Key: 1, Requests: 2},
					{Key: 1, Operation: petcat.OpListCategories, Requests: 5, Rejected: 3},
				},
			},
			{
				Account:     petcat.AllAccounts,
				Hour:        noon.Unix() / 3600,
				UsageCounts: petcat.UsageCounts{Requests: 8, MinuteRejected: 4},
			},
		},
		Rejections: []petcat.Rejection{{
			Account:   1,
			Key:       1,
			Operation: petcat.OpListCategories,
			Code:      petcat.CodeRateLimitExceeded,
			Status:    429,
			Count:     3,
			First:     noon,
			Last:      noon,
			RequestID: "r",
		}},
	}))
}

func TestGetUsage(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.acme(`{}`)
	s.addUsage()
	type usage struct {
		Account string
		Total   counts
	}
	want := usage{Account: "acct_1", Total: counts{Requests: 7, MinuteRejected: 3}}
	for _, query := range []string{"", "?by=hour", "?by=hour&from=2027-03-14", "?from=7d"} {
		wantEqual(t, query, want, decode[usage](t, s.get("/accounts/acme/usage"+query)))
	}
	all := usage{Total: counts{Requests: 8, MinuteRejected: 4}}
	wantEqual(t, "all accounts", all, decode[usage](t, s.get("/usage?from=7d")))
	for _, wrong := range []string{
		"by=week", "from=tomorrow", "to=tomorrow", "from=2027-03-14&to=2027-03-14", "by=hour&from=2027-01-01",
	} {
		s.rejected(400, "invalid_field", "GET", "/accounts/acme/usage?"+wrong, "")
		s.rejected(400, "invalid_field", "GET", "/usage?"+wrong, "")
	}
}

func TestGetUsageByGroup(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.acme(`{}`)
	s.addUsage()
	type part struct {
		Key, Operation     *string
		Requests, Rejected int64
	}
	type usage struct {
		Total  counts
		Detail []part
	}
	total := counts{Requests: 7, MinuteRejected: 3}
	key, operation := "key_1", "listCategories"
	byKey := usage{total, []part{{Key: &key, Requests: 7, Rejected: 3}}}
	wantEqual(t, "by key", byKey, decode[usage](t, s.get("/accounts/acme/usage?group=key")))
	byOperation := usage{total, []part{{Requests: 2}, {Operation: &operation, Requests: 5, Rejected: 3}}}
	wantEqual(t, "by operation", byOperation, decode[usage](t, s.get("/accounts/acme/usage?by=hour&group=operation")))
	wantEqual(t, "ungrouped", usage{Total: total}, decode[usage](t, s.get("/accounts/acme/usage")))
	for _, wrong := range []string{"group=account", "group=key&from=2026-01-01"} {
		s.rejected(400, "invalid_field", "GET", "/accounts/acme/usage?"+wrong, "")
	}
}

func TestTopUsage(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.acme(`{}`)
	s.addUsage()
	type top struct {
		Account        string
		Name           string
		Requests       int64
		MinuteRejected int64 `json:"minute_rejected"`
	}
	want := []top{{"acct_1", "acme", 7, 3}}
	for _, query := range []string{"", "?by=rejected", "?limit=1"} {
		wantEqual(t, query, want, decode[[]top](t, s.get("/usage/top"+query)))
	}
	for _, wrong := range []string{"by=bytes", "limit=0", "from=tomorrow"} {
		s.rejected(400, "invalid_field", "GET", "/usage/top?"+wrong, "")
	}
}

func TestListRejections(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.acme(`{}`)
	s.addUsage()
	type rejection struct {
		Key       string
		Operation string
		Code      string
		Count     int64
	}
	want := []rejection{{"key_1", "listCategories", "rate_limit_exceeded", 3}}
	wantEqual(t, "the rejections", want, decode[[]rejection](t, s.get("/accounts/acme/rejections")))
}
