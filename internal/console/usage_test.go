package console

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/pagetest"
)

func TestUsage(t *testing.T) {
	s := start(t)
	b := s.admin()
	a := s.Account("acme")
	k := s.Key(a.ID)
	b.Get("accounts/acct_1/usage").Want(http.StatusOK, "No requests in this period.")
	b.Get("keys/key_1").Want(http.StatusOK, "<dt>Last used</dt><dd>never</dd>")
	b.Get("accounts/acct_1").Want(http.StatusOK, `<td>never</td><td class="low">never</td>`) // last used, expires
	batch := petcat.UsageBatch{
		Node:   "N1",
		Number: 1,
		SeenAt: pagetest.Noon,
		Keys:   []petcat.KeyUse{{Key: k.ID, At: pagetest.Noon.Add(-7 * time.Minute)}},
	}
	for i, ago := range []time.Duration{10 * time.Minute, 5 * time.Hour, 3 * 24 * time.Hour} {
		batch.Counts = append(batch.Counts, petcat.UsageCount{
			Account: a.ID,
			Hour:    pagetest.Noon.Add(-ago).Unix() / 3600,
			UsageCounts: petcat.UsageCounts{
				Requests:       1000 + int64(i),
				MinuteRejected: 7,
				DayRejected:    5,
				BanRejected:    3,
				Failed:         2,
				Bytes:          1_234_567,
			},
			Detail: []petcat.UsageDetail{
				{Key: k.ID, Operation: petcat.OpListCategories, Requests: 1000, Rejected: 15, Failed: 2},
				{Key: k.ID, Operation: petcat.OpGetPetByID, Requests: int64(i)},
			},
		})
	}
	pagetest.Must(t, s.Store.AddUsage(t.Context(), batch))

	b.Get("accounts/acct_1/usage").
		Want(http.StatusOK, "<strong>2,001</strong>", "14 Mar 2027, 11:00", "14 Mar 2027, 07:00", "2.5 MB").
		Lacks("11 Mar 2027, 00:00")
	b.Get("accounts/acct_1/usage?by=day").Want(http.StatusOK, "<strong>3,003</strong>", "11 Mar 2027, 00:00",
		`<a href="/console/keys/key_1">key_1</a> made before`, `<td class="right">3,003</td>`,
		`<td class="name">listCategories</td>`, `getPetById <span class="badge deprecated">`)
	b.Get("accounts/acct_1/usage?by=day&from=2025-06-01").
		Want(http.StatusOK, "<strong>3,003</strong>").Lacks("listCategories")
	b.Get("usage").Want(http.StatusOK).Lacks("listCategories")
	b.Get("accounts/acct_1/usage?by=day&from=2027-03-01&to=2027-03-12").
		Want(http.StatusOK, "<strong>1,002</strong>", `value="2027-03-12"`)
	for days, problem := range map[string]string{
		"by=day&from=2027-03-12&to=2027-03-12": "From must be before to " +
			"(got 2027-03-12T00:00:00Z and 2027-03-12T00:00:00Z).",
		"by=day&from=yesterday": `The first day must look like 2027-01-31 (got "yesterday").`,
		"by=hour&from=2027-02-11": "From must not be before 2027-02-12T00:00:00Z (got 2027-02-11T00:00:00Z), " +
			"because earlier hours are no longer kept; days go back further.",
	} {
		b.Get("usage?"+days).Want(http.StatusBadRequest, problem)
		for _, format := range []string{"", ".csv", ".json"} {
			b.Get("accounts/acct_1/usage"+format+"?"+days).Want(http.StatusBadRequest, problem)
		}
	}
	entered := `name="from" value="<b>"` // the input is kept
	b.Get("usage?from=%3Cb%3E").Want(http.StatusBadRequest, entered)
	b.Get("accounts/acct_2/usage").Want(http.StatusNotFound)
	b.Get("accounts/acct_1").Want(http.StatusOK, "14 Mar 2027, 11:53", "All usage and CSV")
	b.Get("keys/key_1").Want(http.StatusOK, "14 Mar 2027, 11:53")

	p := b.Get("accounts/acct_1/usage.csv?by=day").Want(http.StatusOK)
	const want = "begin,requests,minute_rejected,day_rejected,ban_rejected,key_rejected,failed,bytes,incomplete\n" +
		"2027-03-11T00:00:00Z,1002,7,5,3,0,2,1234567,false\n2027-03-14T00:00:00Z,2001,14,10,6,0,4,2469134,false\n"
	if p.Text != want || p.Header.Get("Content-Disposition") != `attachment; filename="acct_1-usage-by-day.csv"` {
		t.Errorf("%s\n%s", p.Header.Get("Content-Disposition"), p.Text)
	}

	hour := func(h int) int64 { return time.Date(2027, 3, 14, h, 0, 0, 0, time.UTC).Unix() }
	b.Get("accounts/acct_1/usage.json?by=hour").
		Want(http.StatusOK, fmt.Sprintf(`{"from":%d,"periods":[[%d,1001,15,2],[%d,1000,15,2]],"step":3600,"to":%d}`,
			hour(-12), hour(7), hour(11), pagetest.Noon.Unix()))
	b.Get("usage.json?by=hour&from=2027-03-14&to=9999-12-31").
		Want(http.StatusOK, fmt.Sprintf(`"to":%d}`, pagetest.Noon.Unix()))
	b.Get("usage?by=day").Want(http.StatusOK, "Usage of all accounts")
	if p := s.Browser().Get("accounts/acct_1/usage.csv"); strings.Contains(p.Text, "1002") {
		t.Error("a stranger gets the usage of an account")
	}
}
