package store

import (
	"cmp"
	"context"

	"petcat"
)

const (
	banColumns = `key_id, account_id, level, started_at, ends_at, early_retries, shadow, lifted_at, lifted_by`
	selectBans = `SELECT ` + banColumns + ` FROM bans`
)

func banInto(b *petcat.Ban) []any {
	return []any{
		(*int64)(&b.Key), (*int64)(&b.Account), &b.Level, (*moment)(&b.StartedAt), (*moment)(&b.EndsAt), &b.EarlyRetries, &b.Shadow,
		(*moment)(&b.LiftedAt), (*string)(&b.LiftedBy),
	}
}

// SaveBan implements [petcat.BanStore]. A limiter saves a ban again if the outcome of the first
// attempt is unknown. An operator may have lifted the ban since, so the second write is ignored.
func (s *Store) SaveBan(ctx context.Context, b petcat.Ban) error {
	return s.Change(ctx, "save ban", func(t *Tx) error {
		if _, err := findKey(t, b.Key); err != nil {
			return err
		}
		if last, err := t.lastBan(b.Key); err != nil || last.Key != 0 && !last.StartedAt.Before(stored(b.StartedAt)) {
			return err
		}
		return t.putBan(b, petcat.ServiceActor, "ban.create", detail{
			"account": b.Account.String(), "level": b.Level, "ends_at": stored(b.EndsAt), "early_retries": b.EarlyRetries, "shadow": b.Shadow,
		})
	})
}

func (t *Tx) putBan(b petcat.Ban, by petcat.Actor, action string, d detail) error {
	return t.put(entry{by, action, b.Key.String(), d}, "bans", "key_id", banColumns+", revision", append(banInto(&b), t.reviseAccess()))
}

// lastBan returns the last ban of a key, or the zero value.
func (t *Tx) lastBan(key petcat.KeyID) (petcat.Ban, error) {
	return one(t, banInto, nil, selectBans+` WHERE key_id = ?`, int64(key))
}

// EachBan implements [petcat.AccessStore].
func (s *Store) EachBan(ctx context.Context, fn func(petcat.Ban) error) error {
	return each(ctx, s, "read the bans", banInto, fn, selectBans)
}

// BanPage implements [petcat.BanStore].
func (s *Store) BanPage(ctx context.Context, q petcat.BanQuery) ([]petcat.Ban, error) {
	var c conditions
	c.when(!q.Active.IsZero(), `lifted_at IS NULL AND ends_at > ?`, q.Active.UnixMilli())
	c.when(q.Account != 0, `account_id = ?`, int64(q.Account))
	c.when(q.After != 0, `key_id > ?`, int64(q.After))
	query, args := c.page(selectBans, `key_id`, q.Limit)
	return list(ctx, s, "read a page of bans", banInto, query, args...)
}

// LiftBan implements [petcat.BanStore].
func (s *Store) LiftBan(ctx context.Context, by petcat.Actor, key petcat.KeyID) (petcat.Ban, error) {
	return change(ctx, s, Work{Doing: "lift ban"}, func(t *Tx) (petcat.Ban, error) {
		b, err := t.lastBan(key)
		if err != nil || !b.Active(t.now) {
			return b, cmp.Or(err, notFound("the key %s is not banned now", key))
		}
		b.LiftedAt, b.LiftedBy = t.now, by
		return b, t.putBan(b, by, "ban.lift", detail{"account": b.Account.String(), "level": b.Level, "original_end": b.EndsAt})
	})
}
