package backup

import (
	"context"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/petcat-api/petcat/internal/datadir"
	"github.com/petcat-api/petcat/internal/store"
)

// hotJournal returns a rollback journal that gives a file the pages of another file, if SQLite finds it
// next to the file.
func hotJournal(content []byte) []byte {
	const pageSize, sector = 4096, 512
	pages := len(content) / pageSize
	header := make([]byte, sector)
	copy(header, "\xd9\xd5\x05\xf9\x20\xa1\x63\xd7")
	binary.BigEndian.PutUint32(header[8:], uint32(pages))  // records
	binary.BigEndian.PutUint32(header[16:], uint32(pages)) // size of the database
	binary.BigEndian.PutUint32(header[20:], sector)
	binary.BigEndian.PutUint32(header[24:], pageSize)
	journal := header
	for n := range pages {
		page := content[n*pageSize : (n+1)*pageSize]
		sum := uint32(0)
		for i := pageSize - 200; i > 0; i -= 200 {
			sum += uint32(page[i])
		}
		journal = binary.BigEndian.AppendUint32(journal, uint32(n+1))
		journal = append(journal, page...)
		journal = binary.BigEndian.AppendUint32(journal, sum)
	}
	return journal
}

// neighbored is a database whose backup is written into a directory where a neighbor may create files.
// The neighbor puts a journal next to each name there when the backup has its first content.
type neighbored struct {
	Source

	shared  string
	journal []byte
}

func (n neighbored) Backup(ctx context.Context, to store.Copy) error {
	err := n.Source.Backup(ctx, to)
	entries, readErr := os.ReadDir(n.shared)
	err = errors.Join(err, readErr)
	for _, entry := range entries {
		err = errors.Join(err, os.WriteFile(filepath.Join(n.shared, entry.Name()+"-journal"), n.journal, 0o600))
	}
	return err
}

// TestNeighborsJournal: SQLite rolls a file back to the pages in a journal next to it. Other users cannot
// place one next to a backup's draft.
func TestNeighborsJournal(t *testing.T) {
	evil, _ := take(t, filledAs(t, "evil"))
	content, err := os.ReadFile(evil)
	must(t, err)
	shared := t.TempDir()
	path := filepath.Join(shared, "a.backup")
	draft, err := datadir.NewDraft(path)
	must(t, err)
	defer draft.Discard()
	good := filledAs(t, "good")
	_, err = Create(t.Context(), draft.Name(), neighbored{good, shared, hotJournal(content)}, "test", noon)
	must(t, err)
	must(t, draft.Keep())
	wantDataset(t, path, good.Dataset())
}

// TestJournalBesideABackup: a backup that is read from another user's directory has its own content.
func TestJournalBesideABackup(t *testing.T) {
	evil, _ := take(t, filledAs(t, "evil"))
	content, err := os.ReadFile(evil)
	must(t, err)
	good := filledAs(t, "good")
	path, _ := take(t, good)
	must(t, os.WriteFile(path+"-journal", hotJournal(content), 0o600))
	wantDataset(t, path, good.Dataset())
}

func filledAs(t *testing.T, account string) stored {
	t.Helper()
	s := openSQLite(t, t.TempDir())
	createAccount(t, s, account)
	return s
}

func wantDataset(t *testing.T, path, want string) {
	t.Helper()
	i, findings, err := Verify(t.Context(), path)
	if err != nil || len(findings) > 0 || i.Dataset != want {
		t.Errorf("the backup is of the dataset %s with %v, %v; want %s", i.Dataset, findings, err, want)
	}
}
