package main

import (
	"encoding/json"
	"fmt"
	"os"
	"testing"

	"petcat/bench/seed"
)

// Rows that were written past petcat on PostgreSQL must look to it as if it had written them,
// and it can make a backup of them.
func TestPetcatTakesWhatWasSeededIntoPostgres(t *testing.T) {
	postgres := findPostgres(t.Context())
	switch {
	case postgres.absent == "":
	case os.Getenv("PETCAT_TEST_REQUIRE") != "":
		t.Fatal(postgres.absent)
	default:
		t.Skip(postgres.absent)
	}
	work, err := os.MkdirTemp("", "petcat-bench-test-") // PostgreSQL's user may not look into the test's own
	if err != nil {
		t.Fatal(err)
	}
	s := &suite{work: work, tools: map[string]tool{"petcat": builtPetcat(t), "postgres": postgres}}
	defer func() {
		if err := s.close(); err != nil {
			t.Error(err)
		}
	}()
	p, remove, err := s.fillPostgres(t.Context(), "filled")
	if err != nil {
		t.Fatal(err)
	}
	defer remove()
	p.BackupEvery = "1s"
	running, err := p.Serve(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer running.Stop()
	last, err := expect(t.Context(), 200, "GET", fmt.Sprintf("%s%s/%d", running.URL, listPath, backedUp), []string{p.bearer()}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var got seed.Record
	if err := json.Unmarshal(last.Body, &got); err != nil {
		t.Fatal(err)
	}
	if want := seed.Records(backedUp)[backedUp-1]; got != want {
		t.Errorf("the last category is %+v, want %+v", got, want)
	}
	a, err := expect(t.Context(), 201, "POST", running.URL+listPath, []string{p.bearer(), contentType}, []byte(`{"name":"next"}`))
	if want := fmt.Sprintf("%s/%d", listPath, backedUp+1); err != nil || a.Get("Location") != want {
		t.Errorf("the next category is %s, want %s: %v", a.Get("Location"), want, err)
	}
	if failed, err := metricOf(t.Context(), running.Admin, "petcat_backup_failures_total"); err != nil || failed > 0 {
		t.Errorf("%v scheduled backups failed: %v", failed, err)
	}
}
