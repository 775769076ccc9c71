package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestImportCountsRows(t *testing.T) {
	for _, c := range []struct {
		name             string
		created, refused int
		says, fails      string
	}{
		{
			"one", 1, 1, "a.csv: 1 row created, 0 existed already, 1 refused.\nIt took 0.5 s, at 2/s.\n",
			"1 row of a.csv was refused; correct it, and run the same command again: it creates nothing twice",
		},
		{
			"many", 1200, 1000, "a.csv: 1,200 rows created, 0 existed already, 1,000 refused.\nIt took 0.5 s, at 2,400/s.\n",
			"1,000 rows of a.csv were refused; correct them, and run the same command again: it creates nothing twice",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			var says strings.Builder
			r := importReport{File: "a.csv", Created: c.created, refused: c.refused, Seconds: 0.5}
			if err := (&program{stdout: &says}).printImport(r, false, false); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.says, says.String()); diff != "" {
				t.Errorf("it says (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.fails, r.verdict(nil).Error()); diff != "" {
				t.Errorf("it fails (-want +got):\n%s", diff)
			}
		})
	}
}
