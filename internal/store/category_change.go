package store

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/petcat-api/petcat"
)

const (
	// selectCategoryChanges has the columns of categoryColumns. It skips deletions that the reader
	// does not need.
	selectCategoryChanges = `
		SELECT
			id,
			CASE WHEN revision > $3 THEN name ELSE '' END,
			CASE WHEN revision > $3 THEN description END,
			revision,
			account_id,
			deleted_at IS NOT NULL
		FROM categories
		WHERE revision > $1 AND (deleted_at IS NULL OR revision > $2)
		ORDER BY revision LIMIT $4`

	// selectKept returns the newest revisions of a category and of a removed deletion.
	selectKept = `
		SELECT
			coalesce((SELECT max(revision) FROM categories), 0),
			coalesce((SELECT CAST(value AS bigint) FROM meta WHERE name = 'removed_deletion'), 0)`
)

// kept are the arguments of [petcat.ChangePosition.CheckKept].
type kept struct{ newest, removed petcat.Revision }

func scanKept(row Row) (k kept, err error) {
	err = row.Scan(
		&k.newest,
		&k.removed,
	)
	return k, err
}

// CategoryChanges implements [petcat.CategoryStore].
func (s *Store) CategoryChanges(ctx context.Context, q petcat.ChangeQuery) ([]petcat.RevisedCategory, error) {
	c := s.reader(ctx, "read the changes of categories")
	changes, err := queryRows(c, scanCategory, selectCategoryChanges,
		q.After,
		q.Begun,
		q.Listed,
		q.Limit,
	)
	if err != nil {
		return nil, err
	}
	// Read after the changes, so that it includes every deletion that they lack.
	k, err := queryRow(c, scanKept, nil, selectKept)
	if err != nil {
		return nil, err
	}
	return changes, q.CheckKept(k.newest, k.removed)
}

const (
	// removeDeletions removes at most $2 rows. It keeps the row with the newest revision, which
	// the ETag of the list names.
	removeDeletions = `
		DELETE FROM categories WHERE id IN (
			SELECT id FROM categories
			WHERE deleted_at <= $1 AND revision < (SELECT max(revision) FROM categories)
			ORDER BY deleted_at LIMIT $2 FOR UPDATE SKIP LOCKED)
		RETURNING revision`

	noteRemovedDeletion = `
		INSERT INTO meta (name, value)
		VALUES ('removed_deletion', $1)
		ON CONFLICT (name) DO UPDATE SET value = excluded.value
		WHERE CAST(meta.value AS bigint) < CAST(excluded.value AS bigint)`
)

// removeOldDeletions removes the rows of categories that were deleted before a time, in steps. Several
// nodes may do so concurrently.
func (s *Store) removeOldDeletions(ctx context.Context, before time.Time) error {
	for {
		removed, err := s.removeSomeDeletions(ctx, before)
		if err != nil || removed < s.dialect.CleanRows {
			return err
		}
	}
}

// removeSomeDeletions removes some rows, and returns their number.
func (s *Store) removeSomeDeletions(ctx context.Context, before time.Time) (_ int, err error) {
	w, err := s.db.BeginWrite(ctx, "remove old deletions")
	if err != nil {
		return 0, err
	}
	defer w.End(&err)
	removed, err := queryRows(w, scanNumber, s.dialect.Text(removeDeletions), before.UnixMilli(), s.dialect.CleanRows)
	if err != nil {
		return 0, err
	}
	if len(removed) > 0 {
		newest := strconv.FormatInt(slices.Max(removed), 10)
		if err := w.Run(noteRemovedDeletion, newest); err != nil {
			return 0, err
		}
	}
	return len(removed), w.Commit()
}
