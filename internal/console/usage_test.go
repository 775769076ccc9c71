package console

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"petcat"
)

func TestUsage(t *testing.T) {
	s := start(t)
	b := s.admin()
	a := s.account("acme")
	k := s.key(a.ID)
	b.get("accounts/acct_1/usage").want(http.StatusOK, "No requests are recorded in this time.")
	b.get("keys/key_1").want(http.StatusOK, "<dt>Last used</dt><dd>never</dd>")
	b.get("accounts/acct_1").want(http.StatusOK, `<td>never</td><td class="low">never</td>`) // last used, expires
	batch := petcat.UsageBatch{Node: "N1", Number: 1, SeenAt: noon, Keys: []petcat.KeyUse{{Key: k.ID, At: noon.Add(-7 * time.Minute)}}}
	for i, at := range []time.Time{noon.Add(-10 * time.Minute), noon.Add(-5 * time.Hour), noon.Add(-3 * 24 * time.Hour)} {
		batch.Counts = append(batch.Counts, petcat.UsageCount{
			Account: a.ID, Hour: at.Unix() / 3600,
			UsageCounts: petcat.UsageCounts{Requests: 1000 + int64(i), MinuteRefused: 7, DayRefused: 5, BanRefused: 3, Failed: 2, Bytes: 1_234_567},
		})
	}
	must(t, s.store.AddUsage(t.Context(), batch))

	b.get("accounts/acct_1/usage").want(http.StatusOK, "<strong>2,001</strong>", "14 Mar 2027, 11:00", "14 Mar 2027, 07:00", "2.5 MB").lacks("11 Mar 2027, 00:00")
	b.get("accounts/acct_1/usage?by=day").want(http.StatusOK, "<strong>3,003</strong>", "11 Mar 2027, 00:00")
	b.get("accounts/acct_1/usage?by=day&from=2027-03-01&to=2027-03-12").want(http.StatusOK, "<strong>1,002</strong>", `value="2027-03-12"`)
	for days, problem := range map[string]string{
		"by=day&from=2027-03-12&to=2027-03-12": "From must be before to (got 2027-03-12T00:00:00Z and 2027-03-12T00:00:00Z).",
		"by=day&from=yesterday":                `The first day must look like 2027-01-31 (got "yesterday").`,
		"by=hour&from=2027-02-11":              "From must not be before 2027-02-12T00:00:00Z (got 2027-02-11T00:00:00Z), because earlier hours are no longer kept; days go back further.",
	} {
		for _, path := range []string{"accounts/acct_1/usage?", "usage?", "accounts/acct_1/usage.csv?", "accounts/acct_1/usage.json?"} {
			b.get(path+days).want(http.StatusBadRequest, problem)
		}
	}
	b.get("usage?from=%3Cb%3E").want(http.StatusBadRequest, `name="from" value="<b>"`) // nothing that was entered is lost
	b.get("accounts/acct_2/usage").want(http.StatusNotFound)
	b.get("accounts/acct_1").want(http.StatusOK, "14 Mar 2027, 11:53", "All usage, and CSV")
	b.get("keys/key_1").want(http.StatusOK, "14 Mar 2027, 11:53")

	p := b.get("accounts/acct_1/usage.csv?by=day").want(http.StatusOK)
	const want = "begin,requests,minute_refused,day_refused,ban_refused,key_refused,failed,bytes,incomplete\n" +
		"2027-03-11T00:00:00Z,1002,7,5,3,0,2,1234567,false\n2027-03-14T00:00:00Z,2001,14,10,6,0,4,2469134,false\n"
	if p.text != want || p.Header.Get("Content-Disposition") != `attachment; filename="acct_1-usage-by-day.csv"` {
		t.Errorf("%s\n%s", p.Header.Get("Content-Disposition"), p.text)
	}

	var chart struct{ Usage [][]int64 }
	must(t, json.Unmarshal([]byte(b.get("accounts/acct_1/usage.json?by=hour").want(http.StatusOK).text), &chart))
	if len(chart.Usage) != 4 || len(chart.Usage[0]) != 26 || chart.Usage[1][23] != 1000 || chart.Usage[1][19] != 1001 || chart.Usage[2][23] != 15 || chart.Usage[3][23] != 2 || chart.Usage[1][24] != 0 || chart.Usage[1][25] != 0 || chart.Usage[0][25] != noon.Unix() {
		t.Errorf("the chart is %v", chart.Usage)
	}
	b.get("usage?by=day").want(http.StatusOK, "Usage of all accounts")
	if p := s.browser().get("accounts/acct_1/usage.csv"); strings.Contains(p.text, "1002") {
		t.Error("a stranger gets the usage of an account")
	}
}
