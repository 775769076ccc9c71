package importer_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	client "github.com/petcat-api/petcat/client"
	"github.com/petcat-api/petcat/internal/importer"
)

// service is a list of categories that rejects the name "bad".
type service struct {
	mu   sync.Mutex
	list []client.Category // guarded by mu, like all below
	keys map[string]bool
	// fails, if not nil, is called with the number of categories after each create. An error
	// means that the response is lost.
	fails func(count int) error
}

func (s *service) send(ctx context.Context, n importer.Row, key string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if n.Name == "bad" {
		return fmt.Errorf("create: %w", &client.Error{Status: 400, Code: client.CodeInvalidField, Message: "no"})
	}
	if key == "" || s.keys[key] {
		return fmt.Errorf("the idempotency key %q was used before", key)
	}
	s.keys[key] = true
	c := client.Category{ID: int64(len(s.keys)), Name: n.Name, Description: n.Description}
	s.list = append(s.list, c)
	if s.fails != nil {
		if err := s.fails(len(s.list)); err != nil {
			return err
		}
	}
	return nil
}

// imports imports a CSV file. It returns the number of created rows and the lines of rejected
// ones.
func (s *service) imports(ctx context.Context, t *testing.T, text string) (created int, rejected []int, err error) {
	t.Helper()
	rows, bad, err := importer.Read(strings.NewReader(text), importer.CSV, false)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range bad {
		rejected = append(rejected, row.Line)
	}
	var sent atomic.Int64
	plan := importer.NewPlan(rows, s.list, importer.Mode{})
	more, err := importer.Run(ctx, plan.Rows, func(ctx context.Context, row importer.Row, key string) error {
		err := s.send(ctx, row, key)
		if err == nil {
			sent.Add(1)
		}
		return err
	})
	for _, row := range more {
		rejected = append(rejected, row.Line)
	}
	slices.Sort(rejected)
	return int(sent.Load()), rejected, err
}

func (s *service) wantImport(t *testing.T, text string, created int, rejected ...int) {
	t.Helper()
	gotCreated, gotRejected, err := s.imports(t.Context(), t, text)
	if err != nil || gotCreated != created || !slices.Equal(gotRejected, rejected) {
		t.Errorf("%d rows created, lines %v rejected, %v; want %d, %v", gotCreated, gotRejected, err, created, rejected)
	}
}

// fileOf returns a file of n rows from line 2. Two are equal, and two are bad.
func fileOf(n int) string {
	lines := []string{"name,description"}
	for i := range n - 4 {
		lines = append(lines, fmt.Sprintf("category %d,\"two\r\nlines\"", i))
	}
	return strings.Join(append(lines, "twin,", "bad,", "twin,", "too,many,fields", ""), "\n")
}

func newService() *service { return &service{keys: map[string]bool{}} }

// TestImport imports a file several times: each row is created once, and again if its category
// was deleted. Bad rows are reported by line and do not stop the import.
func TestImport(t *testing.T) {
	s, text := newService(), fileOf(1000)
	badLines := []int{2*996 + 3, 2*996 + 5} // after rows of two lines
	s.wantImport(t, text, 998, badLines...)
	s.wantImport(t, text, 0, badLines...)

	gone := func(c client.Category) bool { return c.Name == "category 7" || c.Name == "twin" }
	s.list = slices.DeleteFunc(s.list, gone)
	edited := strings.NewReplacer("category 8,", "category eight,", "bad,", "good,").Replace(text) + "twin,\n"
	s.wantImport(t, edited, 1+3+1+1, badLines[1])
	if len(s.list) != 998+3 {
		t.Errorf("%d categories", len(s.list))
	}
}

// TestImportInterrupted stops an import in the middle, with responses lost or not; the next import
// completes it.
func TestImportInterrupted(t *testing.T) {
	lost := fmt.Errorf("connection reset; %w", client.ErrOutcomeUnknown)
	for name, end := range map[string]error{
		"response lost":    lost,
		"quota of the day": fmt.Errorf("create: %w", &client.Error{Status: 429, Code: client.CodeDailyQuotaExceeded}),
		"interrupted":      context.Canceled,
	} {
		t.Run(name, func(t *testing.T) {
			s, text := newService(), fileOf(1000)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			s.fails = func(count int) error {
				if count < 300 {
					return nil
				}
				if errors.Is(end, context.Canceled) {
					cancel()
					return nil
				}
				return end
			}
			created, _, err := s.imports(ctx, t, text)
			if !errors.Is(err, end) || created > 300+64 || len(s.list) > 300+64 {
				t.Errorf("%d rows created, %v", created, err)
			}
			s.fails = nil
			s.wantImport(t, text, 998-len(s.list), 2*996+3, 2*996+5)
			count := map[string]int{}
			for _, c := range s.list {
				count[c.Name]++
			}
			if len(s.list) != 998 || len(count) != 997 || count["twin"] != 2 {
				t.Errorf("%d categories with %d names, %d of them twins", len(s.list), len(count), count["twin"])
			}
		})
	}
}

// TestUpdate checks that rows with ids update their categories, and that missing rows without ids are created.
func TestUpdate(t *testing.T) {
	list := []client.Category{
		{ID: 1, Name: "dog", Description: "Loyal"},
		{ID: 2, Name: "cat"},
		{ID: 3, Name: "twin"},
		{ID: 4, Name: "twin"},
	}
	const text = `[{"id":1,"name":"dog"},{"id":2,"name":"tomcat","description":"Black"},` +
		`{"id":"3","name":"twin","description":null},{"name":"twin"},{"name":"twin"},` +
		`{"id":2,"name":"cat"},{"id":9,"name":"gone"}]`
	rows, bad, err := importer.Read(strings.NewReader(text), importer.JSON, false)
	if err != nil || len(bad) > 0 {
		t.Fatal(bad, err)
	}
	plan := importer.NewPlan(rows, list, importer.Mode{Update: true})
	want := importer.Plan{
		Rows: []importer.Row{
			{Line: 1, Element: 2, ID: "2", Name: "tomcat", Description: "Black", Update: 2},
			{Line: 1, Element: 5, Name: "twin", NoDescription: true},
		},
		Bad: []importer.BadRow{
			{Line: 1, Code: importer.CodeInvalidRow, Message: "element 6: the id 2 occurs twice"},
			{
				Line:    1,
				Code:    client.CodeNotFound,
				Message: "element 7: there is no category 9; omit the id to create one",
			},
		},
		Existing: 3,
	}
	if diff := cmp.Diff(want, plan); diff != "" {
		t.Errorf("plan (-want +got):\n%s", diff)
	}
	plan = importer.NewPlan(rows, list, importer.Mode{})
	if len(plan.Rows) != 4 || len(plan.Bad) != 0 || plan.Existing != 3 {
		t.Errorf("plan without Update: %+v", plan)
	}
}

// TestRejectedRowsOfADryRun: rows that the service would reject are found without it.
func TestRejectedRowsOfADryRun(t *testing.T) {
	rows, _, err := importer.Read(strings.NewReader("name,description\n\"two\nlines\",\ngood,\nbad,x\x01y\n"), importer.CSV, false)
	if err != nil {
		t.Fatal(err)
	}
	plan := importer.NewPlan(rows, nil, importer.Mode{})
	plan.Reject()
	if len(plan.Rows) != 1 || plan.Rows[0].Name != "good" {
		t.Errorf("rows to send: %+v", plan.Rows)
	}
	var got []string
	for _, bad := range plan.Bad {
		got = append(got, fmt.Sprintf("%d %s", bad.Line, bad.Code))
	}
	if want := []string{"2 invalid_field", "5 invalid_field"}; !slices.Equal(got, want) {
		t.Errorf("bad rows: %q, want %q", got, want)
	}
}

func TestFinish(t *testing.T) {
	now := time.Date(2026, 11, 26, 12, 0, 30, 0, time.UTC)
	in := func(d time.Duration) client.Timestamp { return client.Timestamp{Time: now.Add(d)} }
	minute := client.WindowUsage{Window: "minute", Limit: 60, Remaining: 20, Reset: in(30 * time.Second)}
	day := client.WindowUsage{Window: "day", Limit: 1000, Remaining: 500, Reset: in(12*time.Hour - 30*time.Second)}
	for n, want := range map[int64]string{
		0: "0s today", 20: "0s today", 21: "30s today", 80: "30s today", 81: "1m30s today", 500: "7m30s today",
		501: "11h59m30s later", 1500: "11h59m30s later", 1501: "35h59m30s later",
	} {
		at, later := importer.Finish(n, []client.WindowUsage{minute, day}, now)
		got := at.Sub(now).String() + map[bool]string{false: " today", true: " later"}[later]
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%d rows (-want +got):\n%s", n, diff)
		}
	}
	ended := client.WindowUsage{Window: "day", Limit: 5, Reset: in(0)}
	if at, later := importer.Finish(1e6, []client.WindowUsage{ended}, now); !at.Equal(now) || later {
		t.Error("an ended window delays the import")
	}
}
