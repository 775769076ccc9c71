package importer_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"petcat/client"
	"petcat/internal/importer"
	"petcat/internal/randomtest"
)

// TestInterruptedImports: imports that are killed at random moments, as are the machine
// and the connection, with up to days in between, create each row once. The file gains
// rows and is sorted anew meanwhile, and others create categories, too.
func TestInterruptedImports(t *testing.T) {
	randomtest.Run(t, func(t *testing.T, seed uint64) {
		random := randomtest.New(seed)
		for range 10 {
			interrupt(t, random)
		}
	})
}

func interrupt(t *testing.T, random *randomtest.Steps) {
	t.Helper()
	s, journal := newService(), filepath.Join(t.TempDir(), "journal")
	names := many(1 + random.IntN(400))
	for range random.IntN(10) {
		names = append(names, "twin")
	}
	complete := false
	for run := 0; !complete; run++ {
		random.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
		if random.OneIn(3) {
			names = append(names, fmt.Sprint("new in run ", run))
		}
		left, kill := random.IntN(200), run < 12
		s.fate = func(client.NewCategory) fate {
			if left--; kill && left < 0 {
				return fate{carriedOut: random.OneIn(2), err: errLost}
			}
			if random.OneIn(50) {
				s.add(fmt.Sprint("of somebody else ", len(s.list)), "")
			}
			return fate{carriedOut: true}
		}
		o := s.imports(t, journal, rowsOf(names...))
		random.Note("run %d over %d rows: %+v, %v", run, len(names), o.Result, o.err)
		complete = o.err == nil
		if !complete {
			loseTail(t, random, s, journal)
		}
		pause := randomtest.Pick(random, 0, time.Minute, 22*time.Hour, 25*time.Hour, 100*time.Hour)
		s.now = s.now.Add(pause)
		random.Note("%s later", pause)
	}
	s.fate = nil
	s.imports(t, journal, rowsOf(names...)).wantResult(t, importer.Result{Existing: len(names)}, nil)
	if s.wantOnce(t, names...); t.Failed() {
		t.Fatalf("the steps were:\n%s", random.Trail())
	}
}

// loseTail cuts from a journal what a power cut may take: anything behind the last line
// whose request was received, for that was on the disk before.
func loseTail(t *testing.T, random *randomtest.Steps, s *service, journal string) {
	t.Helper()
	data := readFile(t, journal)
	least, end := bytes.IndexByte(data, '\n')+1, 0
	for line := range bytes.Lines(data) {
		end += len(line)
		var record struct{ Row, Key string }
		must(t, json.Unmarshal(line, &record))
		if s.received[record.Key] {
			least = end
		}
	}
	at := least + random.IntN(len(data)-least+1)
	if lost := data[at:]; random.IntN(2) == 0 {
		n := random.IntN(len(lost) + 1)
		random.Note("the journal has %d zeros at byte %d of %d", n, at, len(data))
		clear(lost[:n])
	} else {
		random.Note("the journal loses %d of %d bytes", len(lost), len(data))
		data = data[:at]
	}
	must(t, os.WriteFile(journal, data, 0o600))
}
