package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"petcat/internal/backup"
)

// backedUp returns a backup of a small deployment.
func backedUp(t *testing.T) (file string) {
	t.Helper()
	data := filepath.Join(t.TempDir(), "data")
	newCaller(t, data)
	file = filepath.Join(t.TempDir(), "a.backup")
	petcatDoes(t, data, "backup", file)
	return file
}

// TestBackupMistakes: one sentence each, with the remedy and the right exit code,
// and nothing is made.
func TestBackupMistakes(t *testing.T) {
	good := backedUp(t)
	text, err := os.ReadFile(good)
	must(t, err)
	empty := t.TempDir()
	file := func(name string, content []byte) string {
		path := filepath.Join(t.TempDir(), name)
		must(t, os.WriteFile(path, content, 0o600))
		return path
	}
	taken := filepath.Join(t.TempDir(), "data")
	openAccount(t, taken, "mine", "free")
	away := []string{"--database", "postgres://petcat@127.0.0.1:1/petcat?connect_timeout=1"}
	at := func(name string) []string { return []string{"--data", filepath.Join(empty, name)} }
	for _, c := range []struct {
		name, command, argument string
		flags                   []string
		code                    int
		says                    string
	}{
		{"no data", "backup", filepath.Join(empty, "a.backup"), at("none"), exitConfig, "there is no data in"},
		{"file exists", "backup", good, []string{"--data", taken}, exitUsage, "exists; choose another name, or replace it with --force"},
		{"to a directory", "backup", empty, []string{"--data", taken}, exitUsage, "is a directory; name a file in it"},
		{"no directory", "backup", filepath.Join(empty, "no", "a.backup"), []string{"--data", taken}, exitUsage, "no does not exist; create it first"},
		{"report and copy on stdout", "backup", "-", []string{"--json", "--data", taken}, exitUsage, "give a file name in place of -"},
		{"database away", "backup", filepath.Join(empty, "a.backup"), away, exitTryLater, "cannot be reached"},
		{"no file", "restore", filepath.Join(empty, "no"), at("data"), exitUsage, "does not exist; give a file written by petcat backup"},
		{"from a directory", "restore", empty, at("data"), exitUsage, "is a directory"},
		{"another file", "restore", file("x", []byte("SQLite format 3\x00 and more, and more, and more")), at("data"), exitFailed, "is not a backup of petcat; name a file that petcat backup wrote"},
		{"nothing on stdin", "restore", "-", at("data"), exitFailed, "what comes from stdin is not a backup of petcat"},
		{"newer", "restore", file("x", bytes.Replace(text, []byte("backup 2\n"), []byte("backup 9\n"), 1)), at("data"), exitConfig, "written by a newer petcat (its format is 9, this program knows 2)"},
		{"cut", "restore", file("x", text[:len(text)-1]), at("data"), exitFailed, "is cut or damaged"},
		{"altered", "restore", file("x", slices.Concat(text[:len(text)-1], []byte{text[len(text)-1] ^ 1})), at("data"), exitFailed, "is cut or damaged"},
		{"over data", "restore", good, []string{"--data", taken}, exitConfig, taken + " already contains data; restore into a new data directory"},
		{"restore, database away", "restore", good, away, exitTryLater, "cannot be reached"},
		{"verify cut", "verify", file("x", text[:len(text)/2]), nil, exitFailed, "is cut or damaged"},
		{"verify nothing", "verify", filepath.Join(empty, "no"), nil, exitUsage, "does not exist; give a file written by petcat backup"},
	} {
		t.Run(c.name, func(t *testing.T) {
			code, stdout, stderr := petcatRuns(t, append([]string{c.command, c.argument}, c.flags...)...)
			if code != c.code || stdout != "" || !strings.Contains(stderr, c.says) || strings.Count(stderr, "\n") != 1 {
				t.Errorf("ended with %d, stdout %q, stderr %q; want %d and %q", code, stdout, stderr, c.code, c.says)
			}
		})
	}
	if left, err := os.ReadDir(empty); err != nil || len(left) != 0 {
		t.Errorf("what was refused left %v, %v", left, err)
	}
}

func TestRestoreFromAPipe(t *testing.T) {
	text, err := os.ReadFile(backedUp(t))
	must(t, err)
	data := filepath.Join(t.TempDir(), "data")
	for _, c := range []struct {
		name string
		text []byte
		want int
	}{
		{"cut", text[:len(text)-9], exitFailed},
		{"whole", text, exitDone},
	} {
		var out, errs strings.Builder
		code := execute(t, []string{"restore", "-", "--data", data}, nil, bytes.NewReader(c.text), &out, &errs)
		if code != c.want {
			t.Fatalf("%s: ended with %d: %s", c.name, code, errs.String())
		}
	}
	var piped, errs strings.Builder
	if code := execute(t, []string{"backup", "-", "--data", data}, nil, nil, &piped, &errs); code != exitDone {
		t.Fatalf("backup to stdout ended with %d: %s", code, errs.String())
	}
	if !strings.HasPrefix(piped.String(), "petcat backup 2\n") || !strings.HasPrefix(errs.String(), "Backed up production data") {
		t.Errorf("stdout begins %.40q, stderr is %q", piped.String(), errs.String())
	}
}

// TestVerifyFindsWhatWasAltered: somebody edited the database with another tool.
func TestVerifyFindsWhatWasAltered(t *testing.T) {
	postgres := sharedPostgres.Server(t)
	database := postgres.Database(t)
	newCaller(t, database)
	if text := petcatDoes(t, database, "verify"); !strings.HasSuffix(text, "\nNo faults.\n") {
		t.Errorf("verify says %q", text)
	}
	postgres.Execute(t, database, `ALTER TABLE audit DISABLE TRIGGER audit_append_only`)
	postgres.Execute(t, database, `UPDATE audit SET actor = 'cli:nobody' WHERE sequence = 1; UPDATE counter SET key_id = 0`)
	code, stdout, stderr := petcatRuns(t, "verify", "--database", database)
	if code != exitFailed || !strings.Contains(stderr, "faults were found: 2; ") {
		t.Errorf("verify ended with %d: %s", code, stderr)
	}
	for _, want := range []string{"fault: key_1 is behind the last id given out, key_0", "fault: audit entry 1 does not carry the hash"} {
		if !strings.Contains(stdout, want) {
			t.Errorf("verify did not say %q:\n%s", want, stdout)
		}
	}
	code, stdout, _ = petcatRuns(t, "audit", "verify", "--database", database)
	if code != exitFailed || !strings.Contains(stdout, "fault: audit entry 1 does not carry the hash") {
		t.Errorf("audit verify ended with %d: %s", code, stdout)
	}
	file := filepath.Join(t.TempDir(), "faulty.backup")
	petcatDoes(t, database, "backup", file)
	data := filepath.Join(t.TempDir(), "data")
	code, _, stderr = petcatRuns(t, "restore", file, "--data", data)
	if code != exitFailed || !strings.Contains(stderr, "; use another copy, or see all faults with petcat verify") || !strings.Contains(stderr, file+" has faults that a restore would keep (the first: key_1 is behind") {
		t.Errorf("restore ended with %d: %s", code, stderr)
	}
	if _, err := os.Stat(data); !os.IsNotExist(err) {
		t.Errorf("a faulty backup left something: %v", err)
	}
	_, stdout, _ = petcatRuns(t, "verify", "--json", "--database", database)
	var r report
	must(t, json.Unmarshal([]byte(stdout), &r))
	if len(r.Findings) != 2 {
		t.Errorf("verify --json found %q", r.Findings)
	}
}

// TestVerifyFindsDamageOfTheFile: the disk changed pages of the embedded database.
func TestVerifyFindsDamageOfTheFile(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	petcatDoes(t, data, "restore", manyRows(t, 5_000))
	path := filepath.Join(data, "petcat.db")
	text, err := os.ReadFile(path)
	must(t, err)
	clear(text[len(text)/2 : len(text)/2+64<<10])
	must(t, os.WriteFile(path, text, 0o600))
	code, stdout, stderr := petcatRuns(t, "verify", "--data", data)
	if code != exitFailed || !strings.Contains(stdout, "fault: the file is damaged: ") || !strings.Contains(stderr, "faults were found: ") {
		t.Errorf("verify ended with %d: %s%s", code, last(stdout, 500), stderr)
	}
}

// manyRows writes a backup of so many categories, accounts, keys and day counts.
func manyRows(t testing.TB, rows int64) (file string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "many.backup")
	f, err := os.Create(file)
	must(t, err)
	defer f.Close()
	w := backup.NewWriter(f, "test")
	must(t, w.Begin(backup.Header{
		TakenAt: time.Unix(1, 0).UTC(), Environment: "production", Dataset: "D", Revision: 3 * 1 << 40, AccessRevision: 1 << 40,
		LastCategory: 1 << 41, LastAccount: 1 << 42, LastKey: 1 << 43,
		Rows: map[backup.Kind]int64{backup.Accounts: rows, backup.Keys: rows, backup.Categories: rows, backup.DayCounts: rows},
	}))
	day := time.Now().Unix() / 86_400
	kinds := []struct {
		kind backup.Kind
		row  func(id int64) []any
	}{
		{backup.Accounts, func(id int64) []any {
			return []any{id, "account " + fmt.Sprint(id), "free", int64(60), int64(1_000), int64(5), nil, 2*id - 1}
		}},
		{backup.Keys, func(id int64) []any {
			return []any{id, id, hashOf(id), "", "hint", int64(5), nil, nil, nil, int64(0), 2 * id, id%2 == 0}
		}},
		{backup.Categories, func(id int64) []any {
			return []any{id, "category " + fmt.Sprint(id), nil, 1<<40 + id, 1 + id%rows, int64(5)}
		}},
		{backup.DayCounts, func(id int64) []any { return []any{day, id, id % 1_000} }},
	}
	for _, k := range kinds {
		for id := int64(1); id <= rows; id++ {
			must(t, w.Row(k.kind, k.row(id)))
		}
	}
	_, _, err = w.Finish()
	must(t, err)
	return file
}

// hashOf stands for the hash of a key: as many bytes, in no order.
func hashOf(id int64) []byte {
	h := make([]byte, 0, 32)
	for n := uint64(id); len(h) < 32; n = n*6364136223846793005 + 1442695040888963407 {
		h = append(h, byte(n>>56))
	}
	return h
}

// report is what a command says of a backup, as JSON.
type report struct {
	backup.Header
	Findings []string
}

// rowsIn returns how many rows a place has.
func rowsIn(t *testing.T, data string) int64 {
	t.Helper()
	var r report
	must(t, json.Unmarshal([]byte(petcatDoes(t, data, "verify", "--json")), &r))
	return r.Total()
}

// TestKilledRestoreLeavesNothing: a restore that is killed at any moment leaves an
// empty place, or a full one; and an empty one takes the backup again.
func TestKilledRestoreLeavesNothing(t *testing.T) {
	t.Parallel()
	const rows = 20_000
	file := manyRows(t, rows)
	for name, place := range map[string]func(t *testing.T) string{
		"SQLite":     func(t *testing.T) string { t.Helper(); return filepath.Join(t.TempDir(), "data") },
		"PostgreSQL": func(t *testing.T) string { t.Helper(); return sharedPostgres.Server(t).Database(t) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data := place(t)
			begun := time.Now()
			petcatDoes(t, data, "restore", file)
			took := time.Since(begun)
			data = place(t)
			killed := 0
			for i := range 6 {
				cmd := processOf(append([]string{"restore", file}, placeFlags(data)...)...)
				must(t, cmd.Start())
				lapse(took * time.Duration(i+1) / 8)
				_ = cmd.Process.Kill() // it may have ended already
				if cmd.Wait() != nil {
					killed++
				}
				found := int64(0)
				if strings.Contains(data, "://") {
					petcatDoes(t, data, "init") // it may have been killed before there were tables
					found = rowsIn(t, data)
				} else if _, err := os.Stat(filepath.Join(data, "petcat.db")); err == nil {
					found = rowsIn(t, data)
				}
				switch found {
				case 0:
				case 4*rows + 1: // it was quicker than the kill
					data = place(t)
				default:
					t.Fatalf("a restore that was killed left %d rows", found)
				}
			}
			if killed == 0 {
				t.Error("no restore was killed")
			}
			petcatDoes(t, data, "restore", file)
			if got := rowsIn(t, data); got != 4*rows+1 {
				t.Errorf("after all kills there are %d rows", got)
			}
		})
	}
}

// TestInterruptedBackupLeavesNothing: whoever gives up finds no half file, and no
// half restore.
func TestInterruptedBackupLeavesNothing(t *testing.T) {
	t.Parallel()
	file := manyRows(t, 100_000)
	data := filepath.Join(t.TempDir(), "data")
	place := t.TempDir()
	stopped := func(begun func() bool, args ...string) {
		t.Helper()
		var stderr strings.Builder
		cmd := processOf(append(args, "--data", data)...)
		cmd.Stderr = &stderr
		must(t, cmd.Start())
		eventually(t, 20*time.Second, args[0]+" is under way", begun)
		must(t, cmd.Process.Signal(os.Interrupt))
		_ = cmd.Wait() // its code says how it went
		if code := cmd.ProcessState.ExitCode(); code != exitFailed || stderr.String() != "petcat: interrupted\n" {
			t.Errorf("%s, interrupted, ended with %d: %s", args[0], code, stderr.String())
		}
	}
	stopped(func() bool {
		_, err := os.Stat(filepath.Join(data, "petcat.db-wal"))
		return err == nil
	}, "restore", file)
	if got := rowsIn(t, data); got != 0 {
		t.Errorf("an interrupted restore left %d rows", got)
	}
	petcatDoes(t, data, "restore", file)
	stopped(func() bool { return len(names(t, place)) > 0 }, "backup", filepath.Join(place, "a.backup"))
	if left := names(t, place); len(left) != 0 {
		t.Errorf("an interrupted backup left %v", left)
	}
}

func TestBackupAndRestoreWithoutRoom(t *testing.T) {
	file := manyRows(t, 30_000)
	volume := disk(t, 8<<20)
	data := filepath.Join(volume, "data")
	code, _, text := petcatRuns(t, "restore", file, "--data", data)
	if code != exitTryLater || !strings.Contains(text, "cannot be written, and nothing was kept") || !strings.Contains(text, "free some space") {
		t.Errorf("restore without room ended with %d: %s", code, text)
	}
	if info, err := os.Stat(filepath.Join(data, "petcat.db-wal")); err == nil && info.Size() > 1<<20 {
		t.Errorf("restore without room left a log of %d bytes", info.Size())
	}
	if got := rowsIn(t, data); got != 0 {
		t.Errorf("restore without room left %d rows", got)
	}
	petcatDoes(t, data, "restore", backedUp(t)) // there is room for this one

	// The other way round: the data is elsewhere, and the backup has no room.
	elsewhere := filepath.Join(t.TempDir(), "data")
	petcatDoes(t, elsewhere, "restore", file)
	ballast := fill(t, volume)
	before := names(t, volume)
	target := filepath.Join(volume, "a.backup")
	code, _, text = petcatRuns(t, "backup", target, "--data", elsewhere)
	if code != exitTryLater || !strings.Contains(text, "cannot write "+target+"; the partial file was removed: no space left") || !strings.Contains(text, "free some space") {
		t.Errorf("backup without room ended with %d: %s", code, text)
	}
	if diff := cmp.Diff(before, names(t, volume)); diff != "" {
		t.Errorf("backup without room left something (-want +got):\n%s", diff)
	}
	must(t, os.Remove(ballast))
	petcatDoes(t, elsewhere, "backup", target)
	info, err := os.Stat(target)
	must(t, err)
	if info.Mode() != 0o600 {
		t.Errorf("the backup has the mode %v", info.Mode())
	}
}

func names(t *testing.T, directory string) (all []string) {
	t.Helper()
	must(t, filepath.WalkDir(directory, func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			all = append(all, name)
		}
		return err
	}))
	return all
}
