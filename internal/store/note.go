package store

import "context"

// A note is a short named text that all processes of a deployment share. It is not part of
// the data: no backup contains it, and it has no revision.

// Note returns a note, "" if there is none.
func (s *Store) Note(ctx context.Context, name string) (text string, err error) {
	text, _, err = find(ctx, s, "read the note "+name, oneColumn[string], `SELECT value FROM meta WHERE name = ?`, name)
	return text, err
}

// SwapNote changes a note from was to to, and reports whether it did: not if the note has
// changed meanwhile. So of several processes that read the same note, one succeeds. A note
// that does not exist is created, whatever was is. After an error, the note may have changed.
func (s *Store) SwapNote(ctx context.Context, name, was, to string) (swapped bool, err error) {
	const query = `INSERT INTO meta (name, value) VALUES (?, ?)
		ON CONFLICT (name) DO UPDATE SET value = excluded.value WHERE meta.value = ?`
	changed, err := s.db.Exec(ctx, "change the note "+name, query, name, to, was)
	return changed == 1, err
}
