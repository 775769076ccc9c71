package usage

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/petcat-api/petcat"
)

// TestExport: an event has the same id whenever its hour is exported, and each row has its own.
func TestExport(t *testing.T) {
	rows := []petcat.OperationUsage{
		{Account: 7, Hour: noon, Operation: petcat.OpListCategories, Requests: 1, Rejected: 2, Failed: 3},
		{Account: 7, Hour: noon.Add(time.Hour), Requests: 4},
	}
	export := func(cloudEvents bool) string {
		var written strings.Builder
		x := NewExport(&written, cloudEvents, "D")
		x.Write(rows[:1])
		x.Write(rows[1:])
		if err := x.Close(); err != nil {
			t.Fatal(err)
		}
		return written.String()
	}
	csv := "hour,account,operation,requests,rejected,failed\n" +
		"2027-03-04T12:00:00Z,acct_7,listCategories,1,2,3\n" +
		"2027-03-04T13:00:00Z,acct_7,,4,0,0\n"
	if diff := cmp.Diff(csv, export(false)); diff != "" {
		t.Errorf("CSV (-want +got):\n%s", diff)
	}
	events := `{"specversion":"1.0","id":"D/acct_7/2027-03-04T12:00:00Z/listCategories","source":"/petcat/D",` +
		`"type":"petcat.usage","subject":"acct_7","time":"2027-03-04T12:00:00Z","datacontenttype":"application/json",` +
		`"data":{"account":"acct_7","operation":"listCategories","requests":1,"rejected":2,"failed":3}}` + "\n" +
		`{"specversion":"1.0","id":"D/acct_7/2027-03-04T13:00:00Z/","source":"/petcat/D",` +
		`"type":"petcat.usage","subject":"acct_7","time":"2027-03-04T13:00:00Z","datacontenttype":"application/json",` +
		`"data":{"account":"acct_7","operation":"","requests":4,"rejected":0,"failed":0}}` + "\n"
	if diff := cmp.Diff(events, export(true)); diff != "" {
		t.Errorf("CloudEvents (-want +got):\n%s", diff)
	}
}
