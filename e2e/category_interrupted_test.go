package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestTortureCategoryImport interrupts an import of many rows: three times it is killed,
// and once told to end. Each row is created once. In its long form there are 100,000.
func TestTortureCategoryImport(t *testing.T) {
	t.Parallel()
	rows, patience := 3_000, time.Minute
	if os.Getenv(killsVariable) != "" {
		rows, patience = 100_000, 10*time.Minute
	}
	data := filepath.Join(t.TempDir(), "data")
	s := serve(t, data)
	c := &apiCaller{t, s.api, newCaller(t, data)}
	csv := writeText(t, "pets.csv", "name\n"+manyNames(rows))
	begun := time.Now()
	for i, end := range []os.Signal{os.Kill, syscall.SIGTERM, os.Kill, os.Interrupt, os.Kill} {
		c.interrupted(csv, (i+1)*rows/6, end, patience)
	}
	code, r, stderr := c.imports(csv)
	took := time.Since(begun)
	if code != exitDone || !r.Complete || r.Created == 0 || r.Existing == 0 || r.Created+r.Existing != rows || r.Found != 0 {
		t.Errorf("the last one: exit code %d, %+v, %s", code, r, stderr)
	}
	if code, r, _ = c.imports(csv); code != exitDone || r.Created != 0 || r.Existing != rows {
		t.Errorf("once more: exit code %d, %+v", code, r)
	}
	_, list := s.longList(newListClient(t), c.key)
	times := map[string]int{}
	for _, created := range list {
		times[created.Name]++
	}
	if len(list) != rows || len(times) != rows {
		t.Errorf("of %d rows, %d categories with %d names were created", rows, len(list), len(times))
	}
	t.Logf("%d rows with 5 interruptions in %s: %.0f/s", rows, took.Round(time.Millisecond), float64(rows)/took.Seconds())
}

// journalBytes is about what each row adds to a journal.
const journalBytes = 140

// interrupted imports a file until so many rows are created, and then ends it.
func (c *apiCaller) interrupted(file string, created int, end os.Signal, patience time.Duration) {
	c.t.Helper()
	cmd := processOf("category", "import", file)
	cmd.Env = append(cmd.Env, c.variables()...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	must(c.t, cmd.Start())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = cmd.Wait() // the code says how it went
	}()
	eventually(c.t, patience, "rows are created", func() bool {
		journal, err := os.Stat(file + ".petcat-journal") // it may not be there yet
		return err == nil && journal.Size() >= int64(created*journalBytes)
	})
	must(c.t, cmd.Process.Signal(end))
	select {
	case <-ended:
	case <-time.After(patience):
		c.t.Fatal("the import does not end")
	}
	want := exitInterrupted
	if end == os.Kill {
		want = -1
	}
	code := cmd.ProcessState.ExitCode()
	if code != want || end != os.Kill && !strings.HasSuffix(stderr.String(), "petcat: interrupted; continue with the same command: it creates nothing twice\n") {
		c.t.Errorf("after %v the exit code is %d, and it says %q", end, code, stderr.String())
	}
}
