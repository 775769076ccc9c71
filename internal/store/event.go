package store

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/petcat-api/petcat"
)

const selectEvents = `
	SELECT id, type, at, body, webhook_id FROM events
	WHERE id > $1
	ORDER BY id LIMIT $2`

func scanEvent(row Row) (e petcat.Event, err error) {
	err = row.Scan(&e.ID, &e.Type, (*moment)(&e.At), &e.Data, &e.Webhook)
	return e, err
}

// Events implements [petcat.EventStore].
func (s *Store) Events(ctx context.Context, q petcat.EventQuery) ([]petcat.Event, error) {
	found, err := queryRows(s.reader(ctx, "read events"), scanEvent, selectEvents, q.After, q.Limit)
	if err != nil || len(found) > 0 {
		return found, err
	}
	newest, err := s.NewestEvent(ctx)
	if err == nil && q.After > newest {
		err = petcat.Errorf(petcat.CodeCursorExpired,
			"there is no event %d, because the data was restored; read all events, after 0", int64(q.After))
	}
	return nil, err
}

const selectNewestEvent = `SELECT event_id FROM counter WHERE id = 1`

// NewestEvent implements [petcat.EventStore].
func (s *Store) NewestEvent(ctx context.Context) (petcat.EventID, error) {
	n, err := queryRow(s.reader(ctx, "read the newest event"), scanNumber, nil, selectNewestEvent)
	return petcat.EventID(n), err
}

const insertEvent = `
	INSERT INTO events (id, type, at, body, webhook_id, once)
	VALUES ($1, $2, $3, $4, $5, $6)`

// emit writes an event in the transaction. once, if not nil, is a unique name of the event.
func (t *Tx) emit(kind petcat.EventType, data detail, once any) error {
	return t.emitTo(kind, data, once, 0)
}

// emitTo is emit for an event that only one webhook gets; 0: all.
func (t *Tx) emitTo(kind petcat.EventType, data detail, once any, to petcat.WebhookID) error {
	text, err := json.Marshal(data) // sorts the members
	if err != nil {
		return fmt.Errorf("encode the data of %s: %w", kind, err)
	}
	t.sequences.Event++
	return t.Run(insertEvent, t.sequences.Event, kind, t.now.UnixMilli(), string(text), to, once)
}

const countEventsWithName = `SELECT count(*) FROM events WHERE once = $1`

// emitOnce writes an event in its own transaction, unless another event has the name.
func (s *Store) emitOnce(ctx context.Context, kind petcat.EventType, data detail, once string) (err error) {
	// Usually another node or an earlier run of this one has written it, so this does not take a lock.
	written, err := queryRow(s.reader(ctx, "find an event"), scanNumber, nil, countEventsWithName, once)
	if err != nil || written != 0 {
		return err
	}
	tx, err := s.begin(ctx, Work{Doing: "write an event"})
	if err != nil {
		return err
	}
	defer tx.End(&err)
	if written, err = queryRow(tx, scanNumber, nil, countEventsWithName, once); err != nil {
		return err
	}
	if written == 0 {
		if err := tx.emit(kind, data, once); err != nil {
			return err
		}
	}
	return tx.Commit()
}

// NoteQuotaMark implements [petcat.EventStore].
func (s *Store) NoteQuotaMark(ctx context.Context, m petcat.QuotaMark) error {
	kind := petcat.EventQuotaWarning
	if m.Percent == 100 {
		kind = petcat.EventQuotaExhausted
	}
	reset := time.Unix(petcat.Day.Reset(m.Day), 0).UTC()
	data := detail{
		"account":   m.Account.String(),
		"percent":   m.Percent,
		"used":      m.Used,
		"limit":     m.Limit,
		"resets_at": reset,
	}
	return s.emitOnce(ctx, kind, data, fmt.Sprintf("quota %d %s %d", m.Day, m.Account, m.Percent))
}

// selectExpiringKeys selects keys that expire after $1 and at $2 at the latest, if they were created at
// least $3 before. It skips keys whose event with the name $4, key and expiry is written.
const selectExpiringKeys = `
	SELECT ` + keyColumns + ` FROM api_keys AS k
	WHERE k.expires_at > $1 AND k.expires_at <= $2 AND k.revoked_at IS NULL
		AND k.created_at <= k.expires_at - $3
		AND NOT EXISTS (SELECT 1 FROM events AS e WHERE e.once = $4 || k.id || ' ' || k.expires_at)
	ORDER BY k.expires_at LIMIT $5`

// expiringKeys is the maximum number of events about expiring keys per transaction.
const expiringKeys = 100

// NoteExpiringKeys implements [petcat.EventStore].
func (s *Store) NoteExpiringKeys(ctx context.Context) error {
	nearer := time.Duration(0)
	for _, warning := range petcat.KeyWarnings() {
		for {
			written, err := s.noteExpiringKeys(ctx, nearer, warning)
			if err != nil {
				return err
			}
			if written < expiringKeys {
				break
			}
		}
		nearer = warning
	}
	return nil
}

// noteExpiringKeys writes events for some keys whose expiry is closer than a warning but not closer than
// the next one. It returns their number.
func (s *Store) noteExpiringKeys(ctx context.Context, nearer, warning time.Duration) (written int, err error) {
	once := fmt.Sprintf("expiring in %d: ", int64(warning.Hours()))
	find := func(q Querier, now time.Time) ([]petcat.Key, error) {
		after, until := now.Add(nearer).UnixMilli(), now.Add(warning).UnixMilli()
		return queryRows(q, scanKey, selectExpiringKeys,
			after, until, warning.Milliseconds(), once, expiringKeys)
	}
	found, err := find(s.reader(ctx, "find keys that expire soon"), Now(s.clock))
	if err != nil || len(found) == 0 {
		return 0, err
	}
	tx, err := s.begin(ctx, Work{Doing: "write events of keys that expire soon"})
	if err != nil {
		return 0, err
	}
	defer tx.End(&err)
	if found, err = find(tx, tx.now); err != nil {
		return 0, err
	}
	for _, k := range found {
		name := fmt.Sprintf("%s%d %d", once, int64(k.ID), k.ExpiresAt.UnixMilli())
		if err := tx.emit(petcat.EventKeyExpiring, keyEvent(k), name); err != nil {
			return 0, err
		}
	}
	return len(found), tx.Commit()
}

// keyEvent returns the data of an event about a key.
func keyEvent(k petcat.Key) detail {
	d := keyDetail(k)
	d["key"] = k.ID.String()
	if k.Successor != 0 {
		d["successor"] = k.Successor.String()
	}
	return d
}

// categoriesToldName is the name of the shared text with the newest [categoriesTold].
const categoriesToldName = "categories_told"

// categoriesTold is the last event about changed categories.
type categoriesTold struct {
	Revision int64     `json:"revision"`
	At       time.Time `json:"at"`
}

func scanCategoriesTold(row Row) (told categoriesTold, err error) {
	var text string
	if err := row.Scan(&text); err != nil {
		return told, err
	}
	err = json.Unmarshal([]byte(text), &told)
	return told, err
}

const selectCategoryRevision = `SELECT coalesce(max(revision), 0) FROM categories`

// changedCategories returns the newest revision of the categories, 0 if no event must be written at now.
func changedCategories(q Querier, now time.Time) (int64, error) {
	told, err := queryRow(q, scanCategoriesTold, nil, selectSharedText, categoriesToldName)
	if err != nil {
		return 0, err
	}
	// A time in the future was written before the clock was set back.
	if age := now.Sub(told.At); age >= 0 && age < time.Minute {
		return 0, nil
	}
	newest, err := queryRow(q, scanNumber, nil, selectCategoryRevision)
	if err != nil || newest == told.Revision {
		return 0, err
	}
	return newest, nil
}

// NoteCategoryChanges implements [petcat.EventStore].
func (s *Store) NoteCategoryChanges(ctx context.Context, cursor func(petcat.Revision) string) (err error) {
	newest, err := changedCategories(s.reader(ctx, "find changes of categories"), Now(s.clock))
	if err != nil || newest == 0 {
		return err
	}
	tx, err := s.begin(ctx, Work{Doing: "write an event of changed categories"})
	if err != nil {
		return err
	}
	defer tx.End(&err)
	if newest, err = changedCategories(tx, tx.now); err != nil {
		return err
	}
	if newest == 0 {
		return tx.Commit()
	}
	text, err := json.Marshal(categoriesTold{newest, tx.now})
	if err != nil {
		return err
	}
	if err := tx.Run(setSharedText, categoriesToldName, string(text)); err != nil {
		return err
	}
	data := detail{"cursor": cursor(petcat.Revision(newest))}
	if err := tx.emit(petcat.EventCategoriesChanged, data, nil); err != nil {
		return err
	}
	return tx.Commit()
}

// NoteFailedBackup implements [petcat.EventStore].
func (s *Store) NoteFailedBackup(ctx context.Context, host string) error {
	return s.Change(ctx, "write an event of a failed backup", func(tx *Tx) error {
		return tx.emit(petcat.EventBackupFailed, detail{"host": host}, nil)
	})
}
