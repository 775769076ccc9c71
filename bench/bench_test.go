package main

import (
	"encoding/json"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"petcat/bench/report"
	"petcat/bench/seed"
	"petcat/bench/server"
	"petcat/bench/wrk"
)

func TestParse(t *testing.T) {
	o, _, err := parse([]string{"-quick", "-only", "list"}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if o.rounds != 2 || o.duration != time.Second || o.out != filepath.Join("results", "scratch") {
		t.Errorf("%+v", o)
	}
	if o, _, err = parse(nil, io.Discard); err != nil || o.out != "results" || o.rounds < 5 {
		t.Errorf("without flags: %+v, %v", o, err)
	}
	for _, wrong := range [][]string{{"-rounds", "0"}, {"-duration", "10ms"}, {"-only", "("}, {"-only", "nothing of the kind"}, {"more"}, {"-unknown"}} {
		if _, _, err := parse(wrong, io.Discard); err == nil {
			t.Errorf("%q is taken", wrong)
		}
	}
}

func TestGroupWithoutWrkIsAbsent(t *testing.T) {
	o, _, err := parse([]string{"-only", "^list$"}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	s := &suite{options: o, stderr: io.Discard, tools: map[string]tool{"wrk": {absent: "not installed"}}}
	if err := s.runGroups(t.Context()); err == nil {
		t.Error("a group that could not run is no error")
	}
	if len(s.result.Rows) != 1 || s.result.Rows[0].Met != report.Absent || !strings.Contains(s.result.Rows[0].Note, "not installed") {
		t.Errorf("rows: %+v", s.result.Rows)
	}
}

func TestParseGoBench(t *testing.T) {
	const output = `goos: linux
BenchmarkDecisionWithHeader-2         	 9000000	       132.5 ns/op	       0 B/op	       0 allocs/op
BenchmarkDecisionWithHeader-2         	 9000000	       140 ns/op	       0 B/op	       0 allocs/op
BenchmarkSpendMillionAccounts 	       1	 500000000 ns/op	       102.4 B/account
PASS
`
	got := parseGoBench(output)
	want := map[metricKey][]float64{
		{decisionBenchmark, "ns/op"}:     {132.5, 140},
		{decisionBenchmark, "B/op"}:      {0, 0},
		{decisionBenchmark, "allocs/op"}: {0, 0},
		{accountsBenchmark, "ns/op"}:     {500000000},
		{accountsBenchmark, "B/account"}: {102.4},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestCheckStatuses(t *testing.T) {
	list, refused := subject{status: 200}, subject{status: 429}
	cases := map[string]struct {
		sub    subject
		failed int64
		fine   bool
	}{
		"all well":            {list, 0, true},
		"some fail":           {list, 500, false},
		"all refused":         {refused, 1000, true},
		"half is not refused": {refused, 500, false},
	}
	for name, c := range cases {
		err := checkStatuses(c.sub, wrk.Result{Requests: 1000, Errors: wrk.Errors{Status: c.failed}})
		if (err == nil) != c.fine {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestDiskSync(t *testing.T) {
	took, err := diskSync(t.Context(), t.TempDir(), 20*time.Millisecond)
	if err != nil || took <= 0 {
		t.Errorf("%v, %v", took, err)
	}
}

func TestWrongChecksum(t *testing.T) {
	for _, key := range []string{"pck_live_0", "pck_live_a"} {
		if got := wrongChecksum(key); got == key || len(got) != len(key) || got[:9] != key[:9] {
			t.Errorf("%s becomes %s", key, got)
		}
	}
}

// builtPetcat is petcat as it is here.
func builtPetcat(t *testing.T) tool {
	t.Helper()
	program := filepath.Join(t.TempDir(), "petcat")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", program, "./cmd/petcat")
	build.Dir = ".."
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return tool{path: program}
}

// Rows that were written past petcat must look to it as if it had written them.
func TestPetcatTakesWhatWasSeeded(t *testing.T) {
	s := &suite{work: t.TempDir(), data: map[int]*prepared{}, tools: map[string]tool{"petcat": builtPetcat(t)}}
	p, err := s.with(t.Context(), 1234)
	if err != nil {
		t.Fatal(err)
	}
	if err := seed.Accounts(t.Context(), p.Data, 100); err != nil {
		t.Fatal(err)
	}
	// petcat's next account comes after those.
	if _, err := p.CreateKey(t.Context(), "after", server.Unlimited); err != nil {
		t.Fatal(err)
	}
	running, err := s.startWith(t.Context(), 1234)
	if err != nil {
		t.Fatal(err)
	}
	defer running.Stop()
	type category struct {
		ID                int64
		Name, Description string
	}
	var list []category
	if err := json.Unmarshal(running.list.Body, &list); err != nil {
		t.Fatal(err)
	}
	first := seed.Records(1)[0]
	if len(list) != 1234 || list[0] != (category{1, first.Name, first.Description}) || list[1233].ID != 1234 {
		t.Errorf("%d categories, from %+v", len(list), list[0])
	}
	a, err := expect(t.Context(), 201, "POST", running.URL+listPath, []string{running.bearer(), contentType}, []byte(`{"name":"next"}`))
	if err != nil || a.Get("Location") != "/v1/categories/1235" {
		t.Errorf("the next category is %s, %v", a.Get("Location"), err)
	}
}
