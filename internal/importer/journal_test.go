package importer_test

import (
	"bytes"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"petcat/client"
	"petcat/internal/importer"
)

func readFile(t testing.TB, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	must(t, err)
	return data
}

// TestJournalHasOneOwner: what was created for one account is not taken for another's, and
// two imports do not share a journal.
func TestJournalHasOneOwner(t *testing.T) {
	s, path := newService(), filepath.Join(t.TempDir(), "journal")
	s.imports(t, path, rowsOf("a")).wantResult(t, importer.Result{Created: 1}, nil)
	before := readFile(t, path)
	if strings.Contains(string(before), "pck_live") {
		t.Errorf("the journal shows the key: %s", before)
	}
	for _, c := range []struct {
		owner importer.Owner
		want  error
	}{
		{importer.NewOwner("http://localhost/v1", "pck_live_two"), importer.ErrOtherKey},
		{importer.NewOwner("http://example.com/v1", "pck_live_one"), importer.ErrOtherService},
	} {
		if _, err := importer.OpenJournal(path, c.owner, false); !errors.Is(err, c.want) {
			t.Errorf("%+v: %v", c.owner, err)
		}
	}
	if !bytes.Equal(readFile(t, path), before) {
		t.Error("who was refused changed the journal")
	}
	j, err := importer.OpenJournal(path, here, false)
	must(t, err)
	if _, err := importer.OpenJournal(path, here, false); !errors.Is(err, importer.ErrInUse) {
		t.Errorf("a second import is told %v", err)
	}
	must(t, j.Close())
}

// TestJournalOfANewKey: whoever says that it is the same account goes on, and what is not
// known to be created is looked for.
func TestJournalOfANewKey(t *testing.T) {
	s, path := newService(), filepath.Join(t.TempDir(), "journal")
	s.fate = func(n client.NewCategory) fate { return fate{carriedOut: n.Name != "b", err: errLost} }
	s.imports(t, path, rowsOf("a", "b")).wantResult(t, importer.Result{}, client.ErrOutcomeUnknown)
	s.fate, s.keys = nil, map[string]remembered{} // the other account's
	other := importer.NewOwner("http://example.com/v1", "pck_live_two")
	j, err := importer.OpenJournal(path, other, true)
	must(t, err)
	im := importer.Import{Rows: rowsOf("a", "b"), Journal: j, Service: s, Now: s.time, Created: func() {}, Refused: func(importer.Refusal) {}}
	result, err := im.Run(t.Context())
	must(t, err)
	must(t, j.Close())
	if want := (importer.Result{Created: 1, Existing: 1, Found: 1}); result != want {
		t.Errorf("the result is %+v, want %+v", result, want)
	}
	s.wantOnce(t, "a", "b")
	j, err = importer.OpenJournal(path, other, false)
	must(t, err)
	must(t, j.Close())
}

// TestJournalForgottenKeys: days later, rows whose outcome is unknown are looked for
// before anything is sent again. Only newer categories that say the same count, each for
// one row.
func TestJournalForgottenKeys(t *testing.T) {
	s, path := newService(), filepath.Join(t.TempDir(), "journal")
	s.fate = func(client.NewCategory) fate { return fate{err: errLost} }
	s.imports(t, path, rowsOf("early")).wantResult(t, importer.Result{}, client.ErrOutcomeUnknown)
	s.fate = nil
	s.add("old", "") // somebody else's, before the row of that name is sent
	s.add("twin", "")
	names := []string{"first", "early", "old", "lost", "twin", "twin", "vanished"}
	s.imports(t, path, rowsOf("first")).wantResult(t, importer.Result{Created: 1}, nil)
	twins := 0
	var all sync.WaitGroup // are received before the first of them is answered, which ends the import
	all.Add(len(names) - 1)
	s.hold = all.Wait
	s.fate = func(n client.NewCategory) fate {
		all.Done()
		if n.Name == "twin" {
			twins++
		}
		return fate{carriedOut: n.Name == "lost" || n.Name == "twin" && twins == 2, err: errLost}
	}
	s.imports(t, path, rowsOf(names...)).wantResult(t, importer.Result{Existing: 1}, client.ErrOutcomeUnknown)
	s.fate, s.hold = nil, nil
	s.now = s.now.Add(23*time.Hour + time.Minute)
	s.imports(t, path, rowsOf(names...)).wantResult(t, importer.Result{Created: 4, Existing: 3, Found: 2}, nil)
	s.wantOnce(t, "first", "early", "old", "old", "lost", "twin", "twin", "twin", "vanished") // with those from before
	if len(s.list) != 9 {
		t.Errorf("%d categories exist", len(s.list))
	}
}

// TestJournalEqualRows: of two equal rows, one was lost days ago, and one was created
// today, which nobody was told. They are two categories in the end.
func TestJournalEqualRows(t *testing.T) {
	s, path := newService(), filepath.Join(t.TempDir(), "journal")
	lost := ""
	s.fate = func(n client.NewCategory) fate {
		lost = n.IdempotencyKey
		return fate{err: errLost}
	}
	s.imports(t, path, rowsOf("twin")).wantResult(t, importer.Result{}, client.ErrOutcomeUnknown)
	s.now = s.now.Add(22 * time.Hour)
	s.fate = func(n client.NewCategory) fate {
		if n.IdempotencyKey == lost { // it says nothing of the request before, and stops nothing
			return fate{err: answer(http.StatusBadRequest, client.CodeInvalidField)}
		}
		return fate{carriedOut: true, err: errLost}
	}
	if o := s.imports(t, path, rowsOf("twin", "twin")); !errors.Is(o.err, client.ErrOutcomeUnknown) {
		t.Fatalf("%+v", o)
	}
	s.wantOnce(t, "twin")
	s.fate = nil
	s.now = s.now.Add(2 * time.Hour)
	s.imports(t, path, rowsOf("twin", "twin")).wantResult(t, importer.Result{Created: 2}, nil)
	s.wantOnce(t, "twin", "twin")
}

// TestJournalOfASetBackClock: when nobody can know how long ago a row was sent, it is
// looked for.
func TestJournalOfASetBackClock(t *testing.T) {
	s, path := newService(), filepath.Join(t.TempDir(), "journal")
	s.fate = func(client.NewCategory) fate { return fate{carriedOut: true, err: errLost} }
	s.imports(t, path, rowsOf("a"))
	s.fate, s.keys = nil, map[string]remembered{}
	s.now = s.now.Add(-time.Hour)
	s.imports(t, path, rowsOf("a")).wantResult(t, importer.Result{Existing: 1, Found: 1}, nil)
	s.wantOnce(t, "a")
}

// TestJournalDamage: a line that was being written is forgotten; any other file is
// refused, and left as it is.
func TestJournalDamage(t *testing.T) {
	s, path := newService(), filepath.Join(t.TempDir(), "journal")
	s.imports(t, path, rowsOf("a", "b"))
	whole := readFile(t, path)
	for at := range len(whole) {
		must(t, os.WriteFile(path, whole[:at], 0o600))
		j, err := importer.OpenJournal(path, here, false)
		if err != nil {
			t.Fatalf("cut after %d bytes: %v", at, err)
		}
		must(t, j.Close())
		kept := readFile(t, path)
		if end := bytes.LastIndexByte(whole[:at], '\n') + 1; end > 0 && !bytes.Equal(kept, whole[:end]) {
			t.Errorf("cut after %d bytes: what is left is %q", at, kept)
		}
	}
	for _, lost := range []string{"\x00\x00\x00", "\x00\x00\x00}\n", strings.Repeat("\x00", 1<<17) + "}\n"} { // as some file systems leave it
		must(t, os.WriteFile(path, append(bytes.Clone(whole), lost...), 0o600))
		s.imports(t, path, rowsOf("a", "b")).wantResult(t, importer.Result{Existing: 2}, nil)
		if !bytes.Equal(readFile(t, path), whole) {
			t.Errorf("%q... was not removed", lost[:4])
		}
	}

	lines := bytes.SplitAfter(whole, []byte("\n"))
	for name, text := range map[string][]byte{
		"another file":        []byte("name,description\na,b\n"),
		"one line":            []byte("name"),
		"no first line":       bytes.Join(lines[1:], nil),
		"a line is changed":   bytes.Replace(whole, []byte(`"key":"`), []byte(`"yek":"`), 2),
		"a line is missing":   bytes.Join([][]byte{lines[0], lines[3]}, nil),
		"a version to come":   bytes.Replace(whole, []byte(`"journal":1`), []byte(`"journal":2`), 1),
		"a row that is none":  []byte(string(lines[0]) + `{"row":"9a","key":"k","at":1}` + "\n"),
		"a row without a key": []byte(string(lines[0]) + `{"row":"9a3c9a3c9a3c9a3c9a3c9a3c9a3c9a3c"}` + "\n"),
		"a long line":         append(bytes.Clone(whole), bytes.Repeat([]byte(" "), 1<<17)...),
	} {
		t.Run(name, func(t *testing.T) {
			must(t, os.WriteFile(path, text, 0o600))
			if _, err := importer.OpenJournal(path, here, true); !errors.Is(err, importer.ErrNoJournal) {
				t.Errorf("it was opened: %v", err)
			}
			if !bytes.Equal(readFile(t, path), text) {
				t.Error("it was changed")
			}
		})
	}
}

// FuzzJournal: whatever stands in the file, it is refused and left as it is, or read, and
// then nothing but a line without its end is removed.
func FuzzJournal(f *testing.F) {
	f.Add([]byte(`{"journal":1,"service":"http://localhost/v1","key":"k"}` + "\n" + `{"row":"9a3c9a3c9a3c9a3c9a3c9a3c9a3c9a3c-2","key":"k","at":1}` + "\n" + `{"row":"9a3c9a3c9a3c9a3c9a3c9a3c9a3c9a3c-2","id":1}` + "\n{"))
	f.Add([]byte(`{"journal":1,"serv`))
	f.Add([]byte(`{"journal":1,"service":"http://localhost/v1","key":"k"}` + "\n" + "\x00\x00\n{}\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		path := filepath.Join(t.TempDir(), "journal")
		must(t, os.WriteFile(path, text, 0o600))
		j, err := importer.OpenJournal(path, here, true)
		after := readFile(t, path)
		if err != nil {
			if !errors.Is(err, importer.ErrNoJournal) || !bytes.Equal(after, text) {
				t.Fatalf("%v; what is left is %q", err, after)
			}
			return
		}
		must(t, j.Close())
		text, _, _ = bytes.Cut(text, []byte{0})
		if whole := text[:bytes.LastIndexByte(text, '\n')+1]; !bytes.HasPrefix(after, whole) {
			t.Errorf("what is left is %q", after)
		}
		again, err := importer.OpenJournal(path, here, false)
		must(t, err)
		must(t, again.Close())
		if !bytes.Equal(readFile(t, path), after) {
			t.Error("opening it twice changed it again")
		}
	})
}
