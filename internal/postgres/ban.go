package postgres

import (
	"context"

	"petcat"
)

const banColumns = `key_id, account_id, level, started_at, ends_at, early_retries, shadow, lifted_at, lifted_by`

func scanBan(scan scanner) (petcat.Ban, error) {
	var b petcat.Ban
	var started, ends, lifted *int64
	err := scan((*int64)(&b.Key), (*int64)(&b.Account), &b.Level, &started, &ends, &b.EarlyRetries, &b.Shadow, &lifted, (*string)(&b.LiftedBy))
	b.StartedAt, b.EndsAt, b.LiftedAt = fromMillis(started), fromMillis(ends), fromMillis(lifted)
	return b, err
}

// SaveBan implements [petcat.BanStore].
func (s *Store) SaveBan(ctx context.Context, b petcat.Ban) error {
	return s.change(ctx, "save ban", func(t *tx) error {
		if _, err := t.key(b.Key); err != nil {
			return err
		}
		// Who does not know whether a ban was saved saves it again, perhaps after
		// somebody lifted it.
		if last, ok, err := t.lastBan(b.Key); err != nil || ok && !last.StartedAt.Before(stored(b.StartedAt)) {
			return err
		}
		if err := t.putBan(b); err != nil {
			return err
		}
		return t.record(petcat.ServiceActor, "ban.impose", b.Key, detail{
			"account": b.Account.String(), "level": b.Level, "ends_at": stored(b.EndsAt), "early_retries": b.EarlyRetries, "shadow": b.Shadow,
		})
	})
}

func (t *tx) putBan(b petcat.Ban) error {
	const insert = `INSERT INTO ban (key_id, account_id, level, started_at, ends_at, early_retries, shadow, lifted_at, lifted_by, revision)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
		ON CONFLICT (key_id) DO UPDATE SET account_id = excluded.account_id, level = excluded.level, started_at = excluded.started_at,
			ends_at = excluded.ends_at, early_retries = excluded.early_retries, shadow = excluded.shadow,
			lifted_at = excluded.lifted_at, lifted_by = excluded.lifted_by, revision = excluded.revision`
	return t.exec(insert, int64(b.Key), int64(b.Account), b.Level, b.StartedAt.UnixMilli(), b.EndsAt.UnixMilli(),
		b.EarlyRetries, b.Shadow, millis(b.LiftedAt), string(b.LiftedBy), t.reviseAccess())
}

// lastBan returns the last ban of a key, if it has one.
func (t *tx) lastBan(key petcat.KeyID) (b petcat.Ban, ok bool, err error) {
	const query = `SELECT ` + banColumns + ` FROM ban WHERE key_id = $1`
	b, err = scanBan(func(into ...any) error { return t.get(query, []any{int64(key)}, into...) })
	ok, err = found(err)
	return b, ok, err
}

// EachBan implements [petcat.BanStore].
func (s *Store) EachBan(ctx context.Context, fn func(petcat.Ban) error) error {
	const query = `SELECT ` + banColumns + ` FROM ban ORDER BY key_id`
	return s.pool.each(ctx, "read bans", func(scan scanner) error {
		b, err := scanBan(scan)
		if err != nil {
			return err
		}
		return stop(fn(b))
	}, query)
}

// LiftBan implements [petcat.BanStore].
func (s *Store) LiftBan(ctx context.Context, by petcat.Actor, key petcat.KeyID) (petcat.Ban, error) {
	var b petcat.Ban
	err := s.change(ctx, "lift ban", func(t *tx) error {
		var ok bool
		var err error
		if b, ok, err = t.lastBan(key); err != nil {
			return err
		} else if !ok || !b.Active(t.now) {
			return notFound("%s is not banned now; list the bans with: petcat ban list", key)
		}
		b.LiftedAt, b.LiftedBy = t.now, by
		if err := t.putBan(b); err != nil {
			return err
		}
		return t.record(by, "ban.lift", key, detail{"account": b.Account.String(), "level": b.Level, "would_have_ended_at": b.EndsAt})
	})
	if err != nil {
		return petcat.Ban{}, err
	}
	return b, nil
}
