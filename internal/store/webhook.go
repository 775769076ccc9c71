package store

import (
	"context"
	"strings"

	"github.com/petcat-api/petcat"
)

// webhookColumns are the columns that scanWebhook reads. They do not contain the secret.
const webhookColumns = `
	id, url, types, created_at, disabled_at, failure, cursor_id, attempts, next_at, overlap_ends`

func scanWebhook(row Row) (w petcat.Webhook, err error) {
	var types string
	err = row.Scan(
		&w.ID,
		&w.URL,
		&types,
		(*moment)(&w.CreatedAt),
		(*moment)(&w.DisabledAt),
		&w.Failure,
		&w.Cursor,
		&w.Attempts,
		(*moment)(&w.NextAt),
		(*moment)(&w.OverlapEnds),
	)
	if types != "" {
		for t := range strings.SplitSeq(types, ",") {
			w.Types = append(w.Types, petcat.EventType(t))
		}
	}
	return w, err
}

const (
	selectWebhooks = `SELECT ` + webhookColumns + ` FROM webhooks ORDER BY id`
	selectWebhook  = `SELECT ` + webhookColumns + ` FROM webhooks WHERE id = $1`

	// lockWebhook is for changes: it waits for a delivery that the sender is storing.
	lockWebhook = selectWebhook + ` FOR UPDATE`
)

// Webhooks implements [petcat.WebhookStore].
func (s *Store) Webhooks(ctx context.Context) ([]petcat.Webhook, error) {
	return queryRows(s.reader(ctx, "read webhooks"), scanWebhook, selectWebhooks)
}

func noWebhook(id petcat.WebhookID) error { return notFound("there is no webhook %d", id) }

func findWebhook(q Querier, id petcat.WebhookID) (petcat.Webhook, error) {
	return queryRow(q, scanWebhook, noWebhook(id), selectWebhook, id)
}

// lockWebhook returns a webhook that the transaction changes.
func (s *Store) lockWebhook(tx *Tx, id petcat.WebhookID) (petcat.Webhook, error) {
	return queryRow(tx, scanWebhook, noWebhook(id), s.dialect.Text(lockWebhook), id)
}

// FindWebhook implements [petcat.WebhookStore].
func (s *Store) FindWebhook(ctx context.Context, id petcat.WebhookID) (petcat.Webhook, error) {
	return findWebhook(s.reader(ctx, "find webhook"), id)
}

const selectDeliveries = `
	SELECT event_id, type, attempt, at, status, response FROM deliveries
	WHERE webhook_id = $1
	ORDER BY at DESC, event_id DESC LIMIT $2`

func scanDelivery(row Row) (d petcat.Delivery, err error) {
	err = row.Scan(
		&d.Event,
		&d.Type,
		&d.Attempt,
		(*moment)(&d.At),
		&d.Status,
		&d.Response,
	)
	return d, err
}

// Deliveries implements [petcat.WebhookStore].
func (s *Store) Deliveries(ctx context.Context, id petcat.WebhookID) ([]petcat.Delivery, error) {
	q := s.reader(ctx, "read deliveries")
	if _, err := findWebhook(q, id); err != nil {
		return nil, err
	}
	return queryRows(q, scanDelivery, selectDeliveries, id, petcat.MaxDeliveries)
}

const (
	countWebhooks = `SELECT count(*) FROM webhooks`

	insertWebhook = `
		INSERT INTO webhooks (id, url, types, secret, old_secret, overlap_ends, created_at, disabled_at, failure,
			cursor_id, attempts, next_at)
		VALUES ($1, $2, $3, $4, '', NULL, $5, NULL, '', $6, 0, NULL)`
)

// CreateWebhook implements [petcat.WebhookStore].
func (s *Store) CreateWebhook(
	ctx context.Context, by petcat.Author, n petcat.NewWebhook, secret petcat.Secret,
) (r petcat.Result[petcat.Webhook], err error) {
	const action = "webhook.create"
	tx, err := s.begin(ctx, Work{Doing: "create webhook"})
	if err != nil {
		return r, err
	}
	defer tx.End(&err)
	if id, err := tx.replays(by, action); id != 0 || err != nil {
		return replayed(tx, id, err, findWebhook)
	}
	count, err := queryRow(tx, scanNumber, nil, countWebhooks)
	if err != nil {
		return r, err
	}
	if count >= petcat.MaxWebhooks {
		return r, conflict("there are %d webhooks, which is the maximum; delete one first", count)
	}
	tx.sequences.Webhook++
	w := petcat.Webhook{
		ID:        petcat.WebhookID(tx.sequences.Webhook),
		URL:       n.URL(),
		Types:     n.Types(),
		CreatedAt: tx.now,
		Cursor:    petcat.EventID(tx.sequences.Event),
	}
	err = tx.Run(insertWebhook,
		w.ID,
		w.URL,
		typeNames(w),
		secret.Reveal(),
		w.CreatedAt.UnixMilli(),
		w.Cursor,
	)
	if err != nil {
		return r, err
	}
	if err := tx.log(by.Actor, action, w.ID.String(), webhookDetail(w)); err != nil {
		return r, err
	}
	return petcat.Result[petcat.Webhook]{Value: w}, tx.commitOnce(by, action, int64(w.ID))
}

// typeNames returns the types of a webhook as they are stored.
func typeNames(w petcat.Webhook) string {
	names := make([]string, len(w.Types))
	for i, t := range w.Types {
		names[i] = string(t)
	}
	return strings.Join(names, ",")
}

// webhookDetail returns the host of a webhook for an audit entry, because the rest of the URL may contain
// a secret.
func webhookDetail(w petcat.Webhook) detail { return detail{"host": w.Host()} }

const (
	updateWebhook = `
		UPDATE webhooks
		SET disabled_at = $1, failure = $2, cursor_id = $3, attempts = $4, next_at = $5
		WHERE id = $6`

	// updateWebhookIf is for the sender: an operator may have changed the webhook.
	updateWebhookIf = updateWebhook + ` AND cursor_id = $7 AND attempts = $8 AND disabled_at IS NULL`
)

// webhookProgress returns the arguments of updateWebhook.
func webhookProgress(w petcat.Webhook) []any {
	return []any{
		millis(w.DisabledAt),
		w.Failure,
		w.Cursor,
		w.Attempts,
		millis(w.NextAt),
		w.ID,
	}
}

// changedWebhook runs an author's change to a webhook.
func (s *Store) changedWebhook(
	ctx context.Context, by petcat.Author, id petcat.WebhookID, action string,
	change func(*Tx, petcat.Webhook) (petcat.Webhook, error),
) (r petcat.Result[petcat.Webhook], err error) {
	tx, err := s.begin(ctx, Work{Doing: "change webhook"})
	if err != nil {
		return r, err
	}
	defer tx.End(&err)
	if id, err := tx.replays(by, action); id != 0 || err != nil {
		return replayed(tx, id, err, findWebhook)
	}
	w, err := s.lockWebhook(tx, id)
	if err != nil {
		return r, err
	}
	if r.Value, err = change(tx, w); err != nil {
		return r, err
	}
	if err := tx.log(by.Actor, action, id.String(), webhookDetail(w)); err != nil {
		return r, err
	}
	return r, tx.commitOnce(by, action, int64(id))
}

// ChangeWebhook implements [petcat.WebhookStore].
func (s *Store) ChangeWebhook(
	ctx context.Context, by petcat.Author, id petcat.WebhookID, a petcat.WebhookAction,
) (petcat.Result[petcat.Webhook], error) {
	change := func(tx *Tx, w petcat.Webhook) (petcat.Webhook, error) {
		secrets, err := webhookSecrets(tx, id)
		if err != nil {
			return w, err
		}
		if a == petcat.EnableWebhook && secrets.current == "" {
			return w, conflict("the webhook %d comes from a backup and has no secret; rotate it first", id)
		}
		w = a.Apply(w, tx.now)
		return w, tx.Run(updateWebhook, webhookProgress(w)...)
	}
	return s.changedWebhook(ctx, by, id, "webhook."+string(a), change)
}

const rotateWebhook = `UPDATE webhooks SET secret = $1, old_secret = $2, overlap_ends = $3 WHERE id = $4`

// RotateWebhook implements [petcat.WebhookStore].
func (s *Store) RotateWebhook(
	ctx context.Context, by petcat.Author, n petcat.WebhookRotation,
) (petcat.Result[petcat.Webhook], error) {
	change := func(tx *Tx, w petcat.Webhook) (petcat.Webhook, error) {
		secrets, err := webhookSecrets(tx, w.ID)
		if err != nil {
			return w, err
		}
		w.OverlapEnds = tx.now.Add(n.Overlap)
		return w, tx.Run(rotateWebhook, n.Secret.Reveal(), secrets.current, w.OverlapEnds.UnixMilli(), w.ID)
	}
	if n.Overlap < 0 || n.Overlap > petcat.MaxOverlap {
		return petcat.Result[petcat.Webhook]{}, invalid("the overlap must be from 0 to 30 days (got %s)", n.Overlap).In("overlap")
	}
	return s.changedWebhook(ctx, by, n.Webhook, "webhook.rotate", change)
}

// TestWebhook implements [petcat.WebhookStore].
func (s *Store) TestWebhook(
	ctx context.Context, by petcat.Author, id petcat.WebhookID,
) (petcat.Result[petcat.Webhook], error) {
	change := func(tx *Tx, w petcat.Webhook) (petcat.Webhook, error) {
		if !w.DisabledAt.IsZero() {
			return w, conflict("the webhook %d is disabled; enable it first", id)
		}
		w.NextAt = tx.now
		if err := tx.Run(updateWebhook, webhookProgress(w)...); err != nil {
			return w, err
		}
		return w, tx.emitTo(petcat.EventWebhookTest, detail{"webhook": int64(id)}, nil, id)
	}
	return s.changedWebhook(ctx, by, id, "webhook.test", change)
}

const (
	deleteDeliveries = `DELETE FROM deliveries WHERE webhook_id = $1`
	deleteWebhook    = `DELETE FROM webhooks WHERE id = $1`
)

// DeleteWebhook implements [petcat.WebhookStore].
func (s *Store) DeleteWebhook(
	ctx context.Context, by petcat.Author, id petcat.WebhookID,
) (r petcat.Result[petcat.Webhook], err error) {
	const action = "webhook.delete"
	tx, err := s.begin(ctx, Work{Doing: "delete webhook"})
	if err != nil {
		return r, err
	}
	defer tx.End(&err)
	earlier, err := tx.replays(by, action)
	if err != nil {
		return r, err
	}
	if earlier != 0 {
		return petcat.Result[petcat.Webhook]{Value: petcat.Webhook{ID: id}, Replayed: true}, tx.Commit()
	}
	if r.Value, err = s.lockWebhook(tx, id); err != nil {
		return r, err
	}
	for _, statement := range []string{deleteDeliveries, deleteWebhook} {
		if err := tx.Run(statement, id); err != nil {
			return r, err
		}
	}
	if err := tx.log(by.Actor, action, id.String(), webhookDetail(r.Value)); err != nil {
		return r, err
	}
	return r, tx.commitOnce(by, action, int64(id))
}

// storedSecrets are the secrets of a webhook.
type storedSecrets struct {
	current, old string
	overlapEnds  moment
}

func scanWebhookSecrets(row Row) (s storedSecrets, err error) {
	err = row.Scan(&s.current, &s.old, &s.overlapEnds)
	return s, err
}

const selectWebhookSecrets = `SELECT secret, old_secret, overlap_ends FROM webhooks WHERE id = $1`

func webhookSecrets(q Querier, id petcat.WebhookID) (storedSecrets, error) {
	return queryRow(q, scanWebhookSecrets, noWebhook(id), selectWebhookSecrets, id)
}

// WebhookSecrets implements [petcat.WebhookStore].
func (s *Store) WebhookSecrets(ctx context.Context, id petcat.WebhookID) ([]petcat.Secret, error) {
	found, err := webhookSecrets(s.reader(ctx, "read the secrets of a webhook"), id)
	if err != nil {
		return nil, err
	}
	secrets := []petcat.Secret{petcat.NewSecret(found.current)}
	if found.old != "" && Now(s.clock).Before(found.overlapEnds.time()) {
		secrets = append(secrets, petcat.NewSecret(found.old))
	}
	return secrets, nil
}

const (
	insertDelivery = `
		INSERT INTO deliveries (webhook_id, at, event_id, type, attempt, status, response)
		VALUES ($1, $2, $3, $4, $5, $6, $7)
		ON CONFLICT DO NOTHING`

	deleteOldDeliveries = `
		DELETE FROM deliveries
		WHERE webhook_id = $1 AND (at, event_id) < (
			SELECT at, event_id FROM deliveries WHERE webhook_id = $1
			ORDER BY at DESC, event_id DESC LIMIT 1 OFFSET $2)`
)

// SaveDelivery implements [petcat.WebhookStore]. A failover may lose it; the event is then sent again.
func (s *Store) SaveDelivery(
	ctx context.Context, before, after petcat.Webhook, d *petcat.Delivery,
) (saved bool, err error) {
	w, err := s.db.BeginWrite(ctx, "save a delivery")
	if err != nil {
		return false, err
	}
	defer w.End(&err)
	args := append(webhookProgress(after), before.Cursor, before.Attempts)
	changed, err := w.Exec(updateWebhookIf, args...)
	if err != nil || changed == 0 {
		return false, err
	}
	if d != nil {
		err := w.Run(insertDelivery, after.ID, d.At.UnixMilli(), d.Event, d.Type, d.Attempt, d.Status, d.Response)
		if err != nil {
			return false, err
		}
		if err := w.Run(deleteOldDeliveries, after.ID, petcat.MaxDeliveries-1); err != nil {
			return false, err
		}
	}
	return true, w.Commit()
}
