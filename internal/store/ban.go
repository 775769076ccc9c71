package store

import (
	"context"

	"petcat"
)

const banColumns = `key_id, account_id, level, started_at, ends_at, early_retries, shadow, lifted_at, lifted_by`

func banInto(b *petcat.Ban) []any {
	return []any{
		(*int64)(&b.Key), (*int64)(&b.Account), &b.Level, (*moment)(&b.StartedAt), (*moment)(&b.EndsAt), &b.EarlyRetries, &b.Shadow,
		(*moment)(&b.LiftedAt), (*string)(&b.LiftedBy),
	}
}

// SaveBan implements [petcat.BanStore]. A limiter that does not know whether a ban was saved
// saves it again. An operator may have lifted it meanwhile, so the second write is ignored.
func (s *Store) SaveBan(ctx context.Context, b petcat.Ban) error {
	return s.db.Change(ctx, Work{Doing: "save ban"}, func(t *Tx) error {
		if _, err := t.key(b.Key); err != nil {
			return err
		}
		if last, found, err := t.lastBan(b.Key); err != nil || found && !last.StartedAt.Before(stored(b.StartedAt)) {
			return err
		}
		return t.putBan(b, petcat.ServiceActor, "ban.impose", detail{
			"account": b.Account.String(), "level": b.Level, "ends_at": stored(b.EndsAt), "early_retries": b.EarlyRetries, "shadow": b.Shadow,
		})
	})
}

func (t *Tx) putBan(b petcat.Ban, by petcat.Actor, action string, d detail) error {
	const put = `INSERT INTO bans (key_id, account_id, level, started_at, ends_at, early_retries, shadow, lifted_at, lifted_by, revision)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (key_id) DO UPDATE SET account_id = excluded.account_id, level = excluded.level, started_at = excluded.started_at,
			ends_at = excluded.ends_at, early_retries = excluded.early_retries, shadow = excluded.shadow,
			lifted_at = excluded.lifted_at, lifted_by = excluded.lifted_by, revision = excluded.revision`
	return t.write(entry{by, action, b.Key, d}, put, int64(b.Key), int64(b.Account), b.Level, b.StartedAt.UnixMilli(), b.EndsAt.UnixMilli(),
		b.EarlyRetries, b.Shadow, millis(b.LiftedAt), string(b.LiftedBy), int64(t.reviseAccess()))
}

// lastBan returns the last ban of a key, if it has one.
func (t *Tx) lastBan(key petcat.KeyID) (b petcat.Ban, found bool, err error) {
	const query = `SELECT ` + banColumns + ` FROM bans WHERE key_id = ?`
	return one(t, banInto, query, int64(key))
}

// EachBan implements [petcat.BanStore].
func (s *Store) EachBan(ctx context.Context, fn func(petcat.Ban) error) error {
	const query = `SELECT ` + banColumns + ` FROM bans ORDER BY key_id`
	return each(ctx, s, "read bans", banInto, fn, query)
}

// LiftBan implements [petcat.BanStore].
func (s *Store) LiftBan(ctx context.Context, by petcat.Actor, key petcat.KeyID) (petcat.Ban, error) {
	return change(ctx, s, "lift ban", func(t *Tx) (petcat.Ban, error) {
		b, found, err := t.lastBan(key)
		if err != nil {
			return b, err
		}
		if !found || !b.Active(t.now) {
			return b, notFound("the key %s is not banned now", key)
		}
		b.LiftedAt, b.LiftedBy = t.now, by
		return b, t.putBan(b, by, "ban.lift", detail{"account": b.Account.String(), "level": b.Level, "would_have_ended_at": b.EndsAt})
	})
}
