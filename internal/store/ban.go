package store

import (
	"context"
	"time"

	"github.com/petcat-api/petcat"
)

// banColumns are the columns that scanBan reads.
const banColumns = `key_id, account_id, level, started_at, ends_at, early_retries, shadow, lifted_at, lifted_by`

func scanBan(row Row) (b petcat.Ban, err error) {
	err = row.Scan(
		&b.Key,
		&b.Account,
		&b.Level,
		(*moment)(&b.StartedAt),
		(*moment)(&b.EndsAt),
		&b.EarlyRetries,
		&b.Shadow,
		(*moment)(&b.LiftedAt),
		&b.LiftedBy,
	)
	return b, err
}

const selectBan = `SELECT ` + banColumns + ` FROM bans WHERE key_id = $1`

// lastBan returns the last ban of a key. If there is none, only its key is set.
func lastBan(q Querier, key petcat.KeyID) (petcat.Ban, error) {
	b, err := queryRow(q, scanBan, nil, selectBan, key)
	b.Key = key
	return b, err
}

// FindBan implements [petcat.BanStore].
func (s *Store) FindBan(ctx context.Context, key petcat.KeyID) (petcat.Ban, error) {
	c := s.reader(ctx, "find ban")
	return queryRow(c, scanBan, notFound("the key %s has had no ban in the last 30 days", key), selectBan, key)
}

// EachBan implements [petcat.AccessStore].
func (s *Store) EachBan(ctx context.Context, fn func(petcat.Ban) error) error {
	const query = `SELECT ` + banColumns + ` FROM bans`
	return eachRow(ctx, s, "read the bans", scanBan, fn, query)
}

// banFilter returns the conditions of a query.
func banFilter(q petcat.BanQuery) *filter {
	f := &filter{}
	if !q.Active.IsZero() {
		f.and(`lifted_at IS NULL`)
		f.and(`ends_at > ` + f.arg(q.Active.UnixMilli()))
	}
	if q.Account != 0 {
		f.and(`account_id = ` + f.arg(q.Account))
	}
	if q.After != 0 {
		f.and(`key_id > ` + f.arg(q.After))
	}
	return f
}

// BanPage implements [petcat.BanStore].
func (s *Store) BanPage(ctx context.Context, q petcat.BanQuery) ([]petcat.Ban, error) {
	f := banFilter(q)
	query := `SELECT ` + banColumns + ` FROM bans` + f.where() + ` ORDER BY key_id`
	if q.Limit != 0 {
		query += ` LIMIT ` + f.arg(q.Limit)
	}
	return queryRows(s.reader(ctx, "read a page of bans"), scanBan, query, f.args...)
}

const saveBan = `
	INSERT INTO bans (key_id, account_id, level, started_at, ends_at, early_retries, shadow,
		lifted_at, lifted_by, revision)
	VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
	ON CONFLICT (key_id) DO UPDATE SET
		account_id = excluded.account_id,
		level = excluded.level,
		started_at = excluded.started_at,
		ends_at = excluded.ends_at,
		early_retries = excluded.early_retries,
		shadow = excluded.shadow,
		lifted_at = excluded.lifted_at,
		lifted_by = excluded.lifted_by,
		revision = excluded.revision`

// saveBan writes the last ban of a key.
func (t *Tx) saveBan(b petcat.Ban) error {
	return t.Run(saveBan,
		b.Key,
		b.Account,
		b.Level,
		b.StartedAt.UnixMilli(),
		b.EndsAt.UnixMilli(),
		b.EarlyRetries,
		b.Shadow,
		millis(b.LiftedAt),
		b.LiftedBy,
		t.reviseAccess(),
	)
}

// inheritBan gives a new key the last ban of the key that it replaces, so that a rotation neither lifts a
// ban nor lowers the level of the next one.
func (t *Tx) inheritBan(old, successor petcat.KeyID) error {
	b, err := lastBan(t, old)
	if err != nil || b.Level == 0 || b.Forgotten(t.now) {
		return err
	}
	b.Key = successor
	return t.saveBan(b)
}

// SaveBan implements [petcat.BanStore]. A limiter saves a ban again if the outcome of the first
// attempt is unknown. An operator may have lifted the ban since, so the second write is ignored.
func (s *Store) SaveBan(ctx context.Context, b petcat.Ban) (err error) {
	tx, err := s.begin(ctx, Work{Doing: "save ban"})
	if err != nil {
		return err
	}
	defer tx.End(&err)
	if _, err := findKey(tx, b.Key); err != nil {
		return err
	}
	last, err := lastBan(tx, b.Key)
	if err != nil {
		return err
	}
	if !last.StartedAt.Before(stored(b.StartedAt)) {
		return tx.Commit()
	}
	b.LiftedAt, b.LiftedBy = time.Time{}, ""
	if err := tx.saveBan(b); err != nil {
		return err
	}
	d := detail{
		"account":       b.Account.String(),
		"level":         b.Level,
		"ends_at":       stored(b.EndsAt),
		"early_retries": b.EarlyRetries,
		"shadow":        b.Shadow,
	}
	if err := tx.log(petcat.ServiceActor, "ban.create", b.Key.String(), d); err != nil {
		return err
	}
	if !b.Shadow {
		d["key"] = b.Key.String()
		if err := tx.emit(petcat.EventKeyBanned, d, nil); err != nil {
			return err
		}
	}
	return tx.Commit()
}

const liftBan = `UPDATE bans SET lifted_at = $1, lifted_by = $2, revision = $3 WHERE key_id = $4`

// LiftBan implements [petcat.BanStore].
func (s *Store) LiftBan(
	ctx context.Context, by petcat.Author, key petcat.KeyID,
) (r petcat.Result[petcat.Ban], err error) {
	const action = "ban.lift"
	tx, err := s.begin(ctx, Work{Doing: "lift ban"})
	if err != nil {
		return r, err
	}
	defer tx.End(&err)
	id, err := tx.replays(by, action)
	if err != nil {
		return r, err
	}
	last, err := lastBan(tx, key)
	if err != nil {
		return r, err
	}
	if id != 0 {
		return petcat.Result[petcat.Ban]{Value: last, Replayed: true}, tx.Commit()
	}
	b, err := last.Lift(by.Actor, tx.now)
	if err != nil {
		return r, err
	}
	if err := tx.Run(liftBan, b.LiftedAt.UnixMilli(), b.LiftedBy, tx.reviseAccess(), b.Key); err != nil {
		return r, err
	}
	d := detail{"account": b.Account.String(), "level": b.Level, "original_end": b.EndsAt}
	if err := tx.log(by.Actor, action, b.Key.String(), d); err != nil {
		return r, err
	}
	return petcat.Result[petcat.Ban]{Value: b}, tx.commitOnce(by, action, int64(b.Key))
}
