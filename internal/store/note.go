package store

import "context"

// A note is a short text under a name that all processes of a deployment share, beside
// the data: it is in no backup, and has no revision.

// Note returns a note, "" if there is none.
func (s *Store) Note(ctx context.Context, name string) (text string, err error) {
	text, _, err = find(ctx, s, "read the note "+name, scanText, `SELECT value FROM meta WHERE name = ?`, name)
	return text, err
}

// SwapNote changes a note if it still is what it was, and reports whether it was: of
// several processes that saw the same, one succeeds. After an error it may have.
func (s *Store) SwapNote(ctx context.Context, name, was, to string) (swapped bool, err error) {
	const query = `INSERT INTO meta (name, value) VALUES (?, ?)
		ON CONFLICT (name) DO UPDATE SET value = excluded.value WHERE meta.value = ?`
	changed, err := s.db.Exec(ctx, "change the note "+name, query, name, to, was)
	return changed == 1, err
}

func scanText(scan Scan) (text string, err error) {
	err = scan(&text)
	return text, err
}
