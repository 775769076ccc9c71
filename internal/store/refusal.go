package store

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"petcat"
)

// refusalRetention is how long the refusals of an account are kept after the last one.
const refusalRetention = 30 * 24 * time.Hour

// refusalJSON is a refusal in the column refusals. Moments are Unix milliseconds.
type refusalJSON struct {
	At        int64  `json:"at"`
	RequestID string `json:"request_id"`
	Key       int64  `json:"key"`
	Operation string `json:"operation,omitempty"`
	Status    int    `json:"status"`
	Code      string `json:"code,omitempty"`
	Minute    *spent `json:"minute,omitempty"`
	Day       *spent `json:"day,omitempty"`
	ByShare   bool   `json:"by_share,omitempty"`
	Until     int64  `json:"until,omitempty"`
}

type spent struct {
	Used  int64 `json:"used"`
	Limit int64 `json:"limit"`
}

func refusalDocument(r petcat.Refusal) refusalJSON {
	d := refusalJSON{
		At: r.At.UnixMilli(), RequestID: r.RequestID, Key: int64(r.Key), Operation: string(r.Operation), Status: r.Status, Code: string(r.Code),
		ByShare: r.ByShare,
	}
	if r.Minute.Limit > 0 {
		d.Minute = &spent{r.Minute.Used, r.Minute.Limit}
	}
	if r.Day.Limit > 0 {
		d.Day = &spent{r.Day.Used, r.Day.Limit}
	}
	if !r.Until.IsZero() {
		d.Until = r.Until.UnixMilli()
	}
	return d
}

func (d refusalJSON) refusal() petcat.Refusal {
	r := petcat.Refusal{
		At: time.UnixMilli(d.At).UTC(), RequestID: d.RequestID, Key: petcat.KeyID(d.Key),
		Operation: petcat.OperationID(d.Operation), Status: d.Status, Code: petcat.Code(d.Code), ByShare: d.ByShare,
	}
	if d.Minute != nil {
		r.Minute = petcat.Spent(*d.Minute)
	}
	if d.Day != nil {
		r.Day = petcat.Spent(*d.Day)
	}
	if d.Until != 0 {
		r.Until = time.UnixMilli(d.Until).UTC()
	}
	return r
}

const selectRefusals = `SELECT refusals FROM recent_refusal WHERE account_id = ?`

func scanRefusals(scan Scan) (all []refusalJSON, err error) {
	var text string
	if err := scan(&text); err != nil || text == "" {
		return nil, err
	}
	if err := json.Unmarshal([]byte(text), &all); err != nil {
		return nil, fmt.Errorf("decode recent refusals: %w", err)
	}
	return all, nil
}

// AddRefusals implements [petcat.RefusalStore].
func (s *Store) AddRefusals(ctx context.Context, refusals []petcat.AccountRefusals) error {
	const put = `INSERT INTO recent_refusal (account_id, last_at, refusals) VALUES (?, ?, ?)
		ON CONFLICT (account_id) DO UPDATE SET last_at = excluded.last_at, refusals = excluded.refusals`
	added := make(map[int64][]refusalJSON)
	for _, a := range refusals {
		for _, r := range a.Refusals {
			added[int64(a.Account)] = append(added[int64(a.Account)], refusalDocument(r))
		}
	}
	return s.db.Write(ctx, "add recent refusals", func(c Conn) error {
		if err := lockUsage(c); err != nil {
			return err
		}
		var rows [][]any
		for account, more := range added {
			known, _, err := one(c, scanRefusals, selectRefusals, account)
			if err != nil {
				return err
			}
			all := recentRefusals(known, more)
			text, err := json.Marshal(all)
			if err != nil {
				return fmt.Errorf("encode recent refusals: %w", err)
			}
			rows = append(rows, []any{account, all[0].At, string(text)})
		}
		return c.ExecEach(put, rows)
	})
}

// recentRefusals returns the newest of both, newest first, each once, at most
// [petcat.RecentRefusals].
func recentRefusals(known, more []refusalJSON) []refusalJSON {
	all := slices.Concat(known, more)
	slices.SortStableFunc(all, func(a, b refusalJSON) int { return cmp.Compare(b.At, a.At) })
	type identity struct {
		at int64
		id string
	}
	seen := make(map[identity]bool)
	all = slices.DeleteFunc(all, func(r refusalJSON) bool {
		i := identity{r.At, r.RequestID}
		again := seen[i]
		seen[i] = true
		return again
	})
	return all[:min(len(all), petcat.RecentRefusals)]
}

// Refusals implements [petcat.RefusalStore].
func (s *Store) Refusals(ctx context.Context, account petcat.AccountID) ([]petcat.Refusal, error) {
	documents, _, err := find(ctx, s, "read recent refusals", scanRefusals, selectRefusals, int64(account))
	if err != nil {
		return nil, err
	}
	var all []petcat.Refusal
	for _, d := range documents {
		all = append(all, d.refusal())
	}
	return all, nil
}
