package main

import (
	"testing"
	"time"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/clock"
	"github.com/petcat-api/petcat/internal/datadir"
	"github.com/petcat-api/petcat/internal/sqlite"
	"github.com/petcat-api/petcat/internal/store"
)

func TestWrkRate(t *testing.T) {
	if rate, err := wrkRate("  93 requests in 1.00s\nRequests/sec:  12345.60\n"); err != nil || rate != 12345.6 {
		t.Error(rate, err)
	}
	for _, wrong := range []string{
		"",
		"Requests/sec: 10\n  Non-2xx or 3xx responses: 3\n",
		"Requests/sec: 10\n  Socket errors: connect 0, read 1, write 0, timeout 0\n",
	} {
		if rate, err := wrkRate(wrong); err == nil {
			t.Errorf("%q: %g", wrong, rate)
		}
	}
}

// TestPace: a loader that is late still sends all requests of its schedule.
func TestPace(t *testing.T) {
	a := attack{PerSecond: 10, Duration: 2 * time.Second}
	if wait, stop := a.Pace(250*time.Millisecond, 4); wait != 150*time.Millisecond || stop {
		t.Errorf("the request at 400 ms waits for %s, stop is %t", wait, stop)
	}
	if _, stop := a.Pace(time.Hour, 19); stop {
		t.Error("the last request is not sent")
	}
	if _, stop := a.Pace(0, 20); !stop {
		t.Error("there is one request more")
	}
}

func TestTable(t *testing.T) {
	var r report
	lists := series{name: "list", unit: "/s", values: []float64{900, 1900, 2000}}
	r.compare(lists, "bare", series{values: []float64{1000, 2000, 4000}}, atLeast(0.95))
	r.value("binary", "MB", 25.04, atMost(39))
	const want = `| what   | measured | yardstick    | ratio | spread | bound         | met |
| ---    | ---      | ---          | ---   | ---    | ---           | --- |
| list   | 1,900/s  | bare 2,000/s | 0.9   | 44 %   | at least 0.95 | no  |
| binary | 25.0 MB  |              |       |        | at most 39    | yes |
`
	if got := r.table(); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

func TestFill(t *testing.T) {
	dir := t.TempDir()
	if err := fill(t.Context(), dir, 12, 3); err != nil {
		t.Fatal(err)
	}
	data, err := datadir.Open(dir, true)
	if err != nil {
		t.Fatal(err)
	}
	db, err := sqlite.Open(t.Context(), sqlite.Options{
		Dir:         data,
		Environment: petcat.Production,
		Clock:       clock.NewSystem(),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	s := store.New(db, clock.NewSystem())
	n := 0
	count := func(petcat.RevisedCategory) error {
		n++
		return nil
	}
	if err := s.CategoriesSince(t.Context(), 0, count); err != nil || n != 12 {
		t.Errorf("%d categories, %v", n, err)
	}
}
