package postgres

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"petcat"
	"petcat/internal/store"
)

// A group is one statement on sets, instead of the statements of store.Tx.Create for
// each create: one round trip takes as long as a hundred creates in it.

// createPlain creates the categories of a group without idempotency keys. It takes
// ids and revisions from the counter's row, whose lock it then holds until the commit. It
// is one statement, so that a node that dies while it sends it holds no lock, and
// most often the whole transaction, which it makes durable itself: a separate
// statement for settings takes a fifth of the time that a group takes. The writer makes
// the other settings.
const createPlain = `
	WITH counted AS (
		UPDATE counter SET revision = revision + $4, category_id = category_id + $4
		WHERE id = 1 AND ` + durably + ` <> ''
		RETURNING revision - $4 AS revision, category_id - $4 AS category_id
	), made AS (
		INSERT INTO categories (id, name, description, revision, account_id, created_at)
		SELECT c.category_id + t.n, t.name, t.description, c.revision + t.n, t.account_id, $5
		FROM counted AS c, unnest($1::text[], $2::text[], $3::int8[]) WITH ORDINALITY AS t (name, description, account_id, n)
	)
	SELECT category_id FROM counted`

// createKeyed creates a group's categories: it looks for the idempotency keys that
// earlier requests left, gives the others their ids and revisions, and writes
// them down. It takes half as long again as createPlain.
//
// A key that another node wrote down while this one waited for the lock is not
// seen, because a statement sees what was there when it began. The insert then conflicts
// with its row, sets category_id, which must not be NULL, to NULL, and so makes the whole
// statement fail. It is retried. A row that has expired is replaced.
const createKeyed = `
	WITH asked AS MATERIALIZED (
		SELECT t.n, t.name, t.description, t.account_id, t.key, t.fingerprint, t.refused,
			i.category_id AS known, i.fingerprint = t.fingerprint AS same
		FROM unnest($1::text[], $2::text[], $3::int8[], $4::text[], $5::bytea[], $8::bool[]) WITH ORDINALITY
			AS t (name, description, account_id, key, fingerprint, refused, n)
		LEFT JOIN LATERAL (
			SELECT i.category_id, i.fingerprint FROM idempotency_keys AS i
			WHERE i.account_id = t.account_id AND i.key = t.key AND i.created_at > $6 LIMIT 1
		) AS i ON true
	), fresh AS MATERIALIZED (
		SELECT n, name, description, account_id, key, fingerprint, row_number() OVER (ORDER BY n) AS k
		FROM asked WHERE known IS NULL AND NOT refused
	), counted AS (
		UPDATE counter SET revision = counter.revision + f.n, category_id = counter.category_id + f.n
		FROM (SELECT count(*) AS n FROM fresh) AS f
		WHERE counter.id = 1 AND ` + durably + ` <> ''
		RETURNING counter.revision - f.n AS revision, counter.category_id - f.n AS category_id
	), made AS (
		INSERT INTO categories (id, name, description, revision, account_id, created_at)
		SELECT c.category_id + f.k, f.name, f.description, c.revision + f.k, f.account_id, $7
		FROM fresh AS f, counted AS c ORDER BY f.k
	), kept AS (
		INSERT INTO idempotency_keys (account_id, key, fingerprint, category_id, created_at)
		SELECT f.account_id, f.key, f.fingerprint, c.category_id + f.k, $7
		FROM fresh AS f, counted AS c WHERE f.key IS NOT NULL
		ON CONFLICT (account_id, key) DO UPDATE
		SET fingerprint = excluded.fingerprint, created_at = excluded.created_at,
			category_id = CASE WHEN idempotency_keys.created_at <= $6 THEN excluded.category_id END
	)
	SELECT a.n, a.known, a.same, c.category_id + f.k
	FROM asked AS a LEFT JOIN fresh AS f ON f.n = a.n CROSS JOIN counted AS c ORDER BY a.n`

// maxRepeats is how often a group is retried after another node inserted one of its
// idempotency keys first. The next attempt finds that key, so each conflict is about
// another one. More than two in a row were never observed.
const maxRepeats = 10

// maxDeadlocks is how often a group is retried after a deadlock. Creates wait for each
// other only at the counter's row, so they deadlock only with a schema change that is not
// petcat's, and at most once at each of two tables. The server takes a second to detect a
// deadlock.
const maxDeadlocks = 2

// commit makes a group durable. It is the committer's function.
func (s *Store) commit(group []*store.Create) error {
	err := s.commitGroup(group)
	if err != nil && severityOf(err) == statement && len(group) > 1 {
		// One of them is wrong, and the others must not fail with it: each gets a
		// transaction of its own.
		for _, o := range group {
			if err = s.commitAlone(o); err != nil {
				break
			}
		}
	}
	for _, o := range group {
		s.Release(o)
	}
	switch {
	case err == nil:
		return nil
	case severityOf(err) == lost:
		return store.Unavailable("the database went away, and this write may or may not have happened; retry it later with the same Idempotency-Key", fmt.Errorf("%w: %w", petcat.ErrOutcomeUnknown, err))
	case severityOf(err) == statement:
		return err
	default:
		return store.Unavailable("nothing can be stored at the moment; retry later with the same Idempotency-Key", err)
	}
}

// commitAlone commits one operation of a group whose transaction failed. An
// error that concerns it alone becomes its outcome.
func (s *Store) commitAlone(o *store.Create) error {
	err := s.commitGroup([]*store.Create{o})
	if err != nil && severityOf(err) == statement {
		o.Outcome = err
		return nil
	}
	return err
}

func (s *Store) commitGroup(group []*store.Create) error {
	for repeats, deadlocks := 0, 0; ; repeats++ {
		err := s.create(group)
		if isDeadlock(err) {
			deadlocks++
		}
		if !isKeyConflict(err) && !isDeadlock(err) || repeats == maxRepeats || deadlocks > maxDeadlocks {
			return err
		}
	}
}

// isDeadlock reports whether the server ended the transaction to resolve a deadlock.
func isDeadlock(err error) bool { return sqlState(err) == "40P01" }

// isKeyConflict reports whether another node inserted an idempotency key that this
// one's statement could not see.
func isKeyConflict(err error) bool {
	e, ok := errors.AsType[*pgconn.PgError](err)
	return ok && e.Code == "23502" && e.TableName == "idempotency_keys" && e.ColumnName == "category_id"
}

// create runs a group in one transaction. Results are in the operations only when
// it returns nil.
func (s *Store) create(group []*store.Create) error {
	var batch pgx.Batch
	if slices.ContainsFunc(group, func(o *store.Create) bool { return o.IdempotencyKey != "" }) {
		queueKeyed(&batch, group, store.Now(s.clock))
	} else {
		queuePlain(&batch, group, store.Now(s.clock))
	}
	return s.writer.send(&batch)
}

// columns are what is stored of a group, as one array for each column.
type columns struct {
	names        []string
	descriptions []*string
	accounts     []int64
}

func columnsOf(group []*store.Create) columns {
	c := columns{make([]string, len(group)), make([]*string, len(group)), make([]int64, len(group))}
	for i, o := range group {
		c.names[i], c.descriptions[i], c.accounts[i] = o.New.Name(), o.New.Description(), int64(o.Account)
	}
	return c
}

func queuePlain(batch *pgx.Batch, group []*store.Create, now time.Time) {
	c := columnsOf(group)
	batch.Queue(createPlain, c.names, c.descriptions, c.accounts, int64(len(group)), now.UnixMilli()).QueryRow(func(row pgx.Row) error {
		var before int64
		if err := row.Scan(&before); err != nil {
			return fmt.Errorf("advance the table counter: %w", err)
		}
		for i, o := range group {
			o.Created = petcat.CreatedCategory{Category: o.New.As(petcat.CategoryID(before + int64(i) + 1))}
		}
		return nil
	})
}

func queueKeyed(batch *pgx.Batch, group []*store.Create, now time.Time) {
	c := columnsOf(group)
	keys, fingerprints, refused := make([]*string, len(group)), make([][]byte, len(group)), make([]bool, len(group))
	for i, o := range group {
		if o.IdempotencyKey != "" {
			key := string(o.IdempotencyKey)
			keys[i], fingerprints[i] = &key, o.Fingerprint[:]
		}
		refused[i] = o.Refused != nil
	}
	oldest := now.Add(-petcat.IdempotencyRetention)
	batch.Queue(createKeyed, c.names, c.descriptions, c.accounts, keys, fingerprints, oldest.UnixMilli(), now.UnixMilli(), refused).
		Query(func(rows pgx.Rows) error { return readCreated(rows, group) })
}

// readCreated puts the answers into the operations.
func readCreated(rows pgx.Rows, group []*store.Create) error {
	defer rows.Close()
	answers := 0
	for rows.Next() {
		var n int64
		var known, id *int64
		var same *bool
		if err := rows.Scan(&n, &known, &same, &id); err != nil {
			return err
		}
		answers++
		o := group[n-1]
		o.Outcome, o.Created = nil, petcat.CreatedCategory{}
		switch {
		case id != nil:
			o.Created = petcat.CreatedCategory{Category: o.New.As(petcat.CategoryID(*id))}
		case known == nil:
			o.Outcome = o.Refused
		default:
			o.Outcome = o.Repeats(petcat.CategoryID(*known), *same)
		}
	}
	if err := rows.Err(); err != nil {
		return err
	}
	if answers != len(group) {
		// The counter's row is missing: the transaction has written nothing.
		return fmt.Errorf("the database returned %d rows for %d creates; the table counter has lost its row", answers, len(group))
	}
	return nil
}
