package e2e

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"
)

// rowsVariable asks for backups of so many rows of each of four kinds.
const rowsVariable = "PETCAT_BACKUP_ROWS"

// TestBackupRows: memory does not grow with the number of rows, in neither
// direction, on neither store. It prints what each step took.
func TestBackupRows(t *testing.T) {
	rows := int64(50_000)
	if asked := os.Getenv(rowsVariable); asked != "" {
		n, err := strconv.ParseInt(asked, 10, 64)
		must(t, err)
		rows = n
	}
	file := manyRows(t, rows)
	first := filepath.Join(t.TempDir(), "data")
	database := sharedPostgres.Server(t).Database(t)
	second := filepath.Join(t.TempDir(), "data")
	for _, step := range []struct{ name, from, to string }{
		{"SQLite", "", first},
		{"SQLite to PostgreSQL", first, database},
		{"PostgreSQL to SQLite", database, second},
	} {
		if step.from != "" {
			file = filepath.Join(t.TempDir(), "rows.backup")
			measure(t, step.name+": backup", append([]string{"backup", file}, placeFlags(step.from)...)...)
		}
		measure(t, step.name+": restore", append([]string{"restore", file}, placeFlags(step.to)...)...)
	}
	measure(t, "verify, SQLite", append([]string{"verify"}, placeFlags(second)...)...)
	measure(t, "verify, PostgreSQL", append([]string{"verify"}, placeFlags(database)...)...)
	measure(t, "verify, file", "verify", file)
	info, err := os.Stat(file)
	must(t, err)
	t.Logf("%d rows of each of four kinds make a backup of %d bytes", rows, info.Size())
}

// maxBackupMemory is what a program may take that copies or fills any number of
// rows: SQLite's cache of 64 MB is the largest part of it.
const maxBackupMemory = 250 << 20

// measure runs a command in a process of its own, and prints how long it took
// and how much memory.
func measure(t *testing.T, what string, args ...string) {
	t.Helper()
	cmd := processOf(args...)
	begun := time.Now()
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v: %s", what, err, out)
	}
	took := time.Since(begun).Round(10 * time.Millisecond)
	memory := mostMemory(cmd.ProcessState)
	t.Logf("%-30s %8s %6d MiB", what, took, memory>>20)
	if memory > maxBackupMemory {
		t.Errorf("%s took %d MiB of memory; want at most %d", what, memory>>20, maxBackupMemory>>20)
	}
}
