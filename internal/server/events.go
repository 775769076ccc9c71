package server

import (
	"context"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/events"
	"github.com/petcat-api/petcat/internal/representation"
	"github.com/petcat-api/petcat/internal/store"
)

const (
	// eventInterval is the interval at which a node checks for events to send, and writes the events of
	// accounts close to their quotas.
	eventInterval = time.Second
	// noticeInterval is the interval at which a node checks for keys that expire soon, and for category
	// changes.
	noticeInterval = time.Minute
)

// noteQuotas starts to write the events of accounts close to their quotas.
func (b base) noteQuotas(s *store.Store) *events.Marks {
	marks := events.NewMarks(s)
	b.retry(eventInterval, "write quota events", marks.Flush)
	b.lifetime.every(noticeInterval, func(context.Context) {
		yesterday := b.Clock.Read().Time().AddDate(0, 0, -1) // nodes' clocks differ
		marks.Forget(petcat.Day.Index(yesterday.Unix()))
	})
	b.lifetime.onClose(func(ctx context.Context) error {
		if err := marks.Flush(ctx); err != nil {
			b.Log.WarnContext(ctx, "last quota events not written", "error", err)
		}
		return nil
	})
	return marks
}

// startEvents starts to write the events that are not caused by a change, and to send events to webhooks.
func (b base) startEvents(d *data) {
	sender := events.NewSender(events.Options{
		Store:    d.store,
		Networks: b.Settings.WebhookAllow,
		Dataset:  d.store.Dataset(),
		Body:     func(e petcat.Event) ([]byte, error) { return json.Marshal(representation.Event(e)) },
		Alone: func(ctx context.Context, fn func(context.Context) error) error {
			return d.db.Alone(ctx, store.WebhookJob, fn)
		},
		Clock:  b.Clock,
		Logger: b.Log.Logger,
	})
	b.retry(eventInterval, "send events", sender.Check)
	b.lifetime.onClose(func(context.Context) error {
		sender.Close()
		return nil
	})
	b.retry(noticeInterval, "write events of keys that expire", d.store.NoteExpiringKeys)
	b.retry(noticeInterval, "write events of changed categories", d.noteCategoryChanges)
	b.metrics.Read("petcat_webhook_deliveries_total", func() float64 { return float64(sender.Delivered.Load()) })
	b.metrics.Read("petcat_webhook_failures_total", func() float64 { return float64(sender.Failed.Load()) })
	b.metrics.Read("petcat_webhooks_disabled", func() float64 { return float64(sender.Disabled.Load()) })
}

// noteCategoryChanges writes the event about changed categories, with the feed's cursor after them.
func (d *data) noteCategoryChanges(ctx context.Context) error {
	list, _, err := d.list.Current(ctx, 0)
	if err != nil {
		return err
	}
	return d.store.NoteCategoryChanges(ctx, func(r petcat.Revision) string {
		return list.Cursor(petcat.ChangePosition{After: r, Begun: r})
	})
}

// backupFailed writes the event of a failed backup.
func (b base) backupFailed(ctx context.Context, s *store.Store, host string) {
	if err := s.NoteFailedBackup(ctx, host); err != nil && ctx.Err() == nil {
		b.Log.WarnContext(ctx, "writing the event of the failed backup failed", "error", err)
	}
}
