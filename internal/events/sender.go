// Package events notifies operators: it records accounts that come close to their quotas, and sends the
// store's events to webhooks.
//
// One node of a deployment sends. Each webhook has a cursor into the events and at most one request at a
// time, so a receiver that fails or hangs only delays its own events. A crash between a
// delivery and the cursor repeats the delivery with the same id.
package events

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/clock"
)

const (
	// responseTimeout is the time for a receiver to respond.
	responseTimeout = 15 * time.Second
	// poll is the interval between checks for new events while a receiver is slow.
	poll = time.Second
	// eventsInPage is the number of events that are read at once.
	eventsInPage = 100
)

// Store is the part of [petcat.EventStore] and [petcat.WebhookStore] that the sender calls.
type Store interface {
	Events(ctx context.Context, q petcat.EventQuery) ([]petcat.Event, error)
	NewestEvent(ctx context.Context) (petcat.EventID, error)
	Webhooks(ctx context.Context) ([]petcat.Webhook, error)
	WebhookSecrets(ctx context.Context, id petcat.WebhookID) ([]petcat.Secret, error)
	SaveDelivery(ctx context.Context, before, after petcat.Webhook, d *petcat.Delivery) (saved bool, err error)
}

// Options of a [Sender]. All fields are required unless their comment says otherwise.
type Options struct {
	Store    Store
	Networks petcat.WebhookNetworks // optional
	Dataset  string                 // the name of the data, for the ids of messages
	// Body returns an event as it is sent.
	Body func(petcat.Event) ([]byte, error)
	// Alone calls fn unless another node is in Alone.
	Alone   func(ctx context.Context, fn func(context.Context) error) error
	Timeout time.Duration // of a request; 0: 15 s
	Clock   clock.Clock
	Logger  *slog.Logger
}

// Sender sends events to webhooks. Use [NewSender].
type Sender struct {
	Options

	receivers *receivers
	// Delivered and Failed are the numbers of deliveries, and Disabled is the number of webhooks that petcat
	// disabled.
	Delivered, Failed, Disabled atomic.Int64
}

// NewSender returns a sender. Close it after the last Check.
func NewSender(o Options) *Sender {
	return &Sender{Options: o, receivers: newReceivers(o.Networks, cmp.Or(o.Timeout, responseTimeout))}
}

// Close closes the connections to receivers.
func (s *Sender) Close() { s.receivers.close() }

// Check sends all events that are due, unless another node is sending. Call it repeatedly.
func (s *Sender) Check(ctx context.Context) error {
	due, _, err := s.due(ctx)
	if err != nil || len(due) == 0 {
		return err
	}
	return s.Alone(ctx, s.send)
}

// due returns the webhooks that have events to send now, and the newest event.
func (s *Sender) due(ctx context.Context) (due []petcat.Webhook, newest petcat.EventID, err error) {
	all, err := s.Store.Webhooks(ctx)
	if err != nil {
		return nil, 0, err
	}
	if newest, err = s.Store.NewestEvent(ctx); err != nil {
		return nil, 0, err
	}
	now, disabled := s.Clock.Read().Time(), int64(0)
	for _, w := range all {
		if w.Due(newest, now) {
			due = append(due, w)
		}
		if w.Failure != "" {
			disabled++
		}
	}
	s.Disabled.Store(disabled)
	return due, newest, nil
}

// send sends until all due events are sent and no request is in flight. It runs on one node at a time.
func (s *Sender) send(ctx context.Context) error {
	sending, ended := map[petcat.WebhookID]bool{}, make(chan petcat.WebhookID)
	for {
		due, newest, err := s.due(ctx)
		for _, w := range due {
			if !sending[w.ID] && ctx.Err() == nil {
				sending[w.ID] = true
				go func() {
					s.drain(ctx, w, newest)
					ended <- w.ID
				}()
			}
		}
		if len(sending) == 0 {
			return err
		}
		select {
		case id := <-ended:
			delete(sending, id)
		case <-time.After(poll):
		}
	}
}

// drain sends the events of a webhook up to the newest one, until one fails. After a store error it
// waits, because a delivery that was not stored is sent again.
func (s *Sender) drain(ctx context.Context, w petcat.Webhook, newest petcat.EventID) {
	for more := true; more && w.Cursor < newest; {
		var err error
		w, more, err = s.sendPage(ctx, w, newest)
		if err != nil && ctx.Err() == nil {
			s.Logger.WarnContext(ctx, "a delivery could not be stored; retrying", "webhook", int64(w.ID), "error", err)
			select {
			case <-ctx.Done():
			case <-time.After(poll):
			}
		}
	}
}

// sendPage sends some events of a webhook, and returns the webhook after them, as it is stored. more is
// false after a failed delivery, and if the webhook was changed in the meantime.
func (s *Sender) sendPage(
	ctx context.Context, w petcat.Webhook, newest petcat.EventID,
) (_ petcat.Webhook, more bool, err error) {
	page, err := s.Store.Events(ctx, petcat.EventQuery{After: w.Cursor, Limit: eventsInPage})
	if err != nil {
		return w, false, err
	}
	next := w
	if len(page) == 0 {
		next.Cursor = newest // they were deleted before the webhook was enabled
	}
	for _, e := range page {
		if !w.Wants(e) {
			next.Cursor = e.ID
			continue
		}
		d, err := s.deliver(ctx, w, e)
		if err != nil {
			return w, false, err
		}
		after := next.After(d)
		if saved, err := s.Store.SaveDelivery(ctx, w, after, &d); err != nil || !saved {
			return w, false, err
		}
		s.report(ctx, after, d)
		if !d.Delivered() {
			return after, false, nil
		}
		w, next = after, after
	}
	if next.Cursor == w.Cursor {
		return w, true, nil
	}
	saved, err := s.Store.SaveDelivery(ctx, w, next, nil)
	return next, saved, err
}

// deliver sends an event to a webhook once. If this node stops during the request, the store rejects the
// result, and the next node sends the event again.
func (s *Sender) deliver(ctx context.Context, w petcat.Webhook, e petcat.Event) (d petcat.Delivery, err error) {
	secrets, err := s.Store.WebhookSecrets(ctx, w.ID)
	if err != nil {
		return d, err
	}
	// The id contains the event's time: after a failover that loses an event, another event gets its number.
	m := message{
		id: fmt.Sprintf("evt_%s_%d_%d", s.Dataset, e.ID, e.At.UnixMilli()),
		at: s.Clock.Read().Time(),
	}
	if m.body, err = s.Body(e); err != nil {
		return d, err
	}
	signature, err := m.signature(secrets)
	if err != nil {
		return d, err
	}
	status, response := s.receivers.post(ctx, w.URL, m, signature)
	return petcat.Delivery{
		Event:    e.ID,
		Type:     e.Type,
		Attempt:  w.Attempts + 1,
		At:       s.Clock.Read().Time(),
		Status:   status,
		Response: response,
	}, nil
}

// report counts a delivery, and logs a failed one. The path and the query of the URL may contain a secret.
func (s *Sender) report(ctx context.Context, w petcat.Webhook, d petcat.Delivery) {
	if d.Delivered() {
		s.Delivered.Add(1)
		return
	}
	s.Failed.Add(1)
	reason := d.Response
	if d.Status != 0 {
		reason = "the receiver returned " + strconv.Itoa(d.Status)
	}
	log := s.Logger.With(
		"webhook", int64(w.ID),
		"host", w.Host(),
		"event", int64(d.Event),
		"attempt", d.Attempt,
		"reason", reason)
	if w.Failure != "" {
		log.ErrorContext(ctx, "webhook disabled")
	} else {
		log.WarnContext(ctx, "event not delivered")
	}
}
