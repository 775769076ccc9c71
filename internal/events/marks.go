package events

import (
	"context"
	"sync"

	"github.com/petcat-api/petcat"
)

// Marks notifies operators of accounts that come close to their daily quota. Note is for every request, and
// Flush writes what was noted. They are safe for concurrent use. Use [NewMarks].
type Marks struct {
	store MarkStore
	noted sync.Map // petcat.AccountID → petcat.QuotaMark: the highest mark of the last day

	mu      sync.Mutex
	waiting []petcat.QuotaMark // guarded by mu
}

// MarkStore is the part of [petcat.EventStore] that Marks calls.
type MarkStore interface {
	NoteQuotaMark(ctx context.Context, m petcat.QuotaMark) error
}

// NewMarks returns Marks without notes.
func NewMarks(s MarkStore) *Marks { return &Marks{store: s} }

// Note records how much of its daily quota an account has used. It does not block.
func (m *Marks) Note(account petcat.AccountID, day, used, limit int64) {
	percent := petcat.PassedMark(used, limit)
	if percent == 0 {
		return
	}
	last, _ := m.noted.Load(account)
	if noted, ok := last.(petcat.QuotaMark); ok && noted.Day == day && noted.Percent >= percent {
		return
	}
	mark := petcat.QuotaMark{
		Account: account,
		Day:     day,
		Percent: percent,
		Used:    used,
		Limit:   limit,
	}
	m.noted.Store(account, mark)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.waiting = append(m.waiting, mark)
}

// Flush writes the events of all notes. After an error, the next Flush writes the rest.
func (m *Marks) Flush(ctx context.Context) error {
	m.mu.Lock()
	marks := m.waiting
	m.waiting = nil
	m.mu.Unlock()
	for i, mark := range marks {
		if err := m.store.NoteQuotaMark(ctx, mark); err != nil {
			m.mu.Lock()
			defer m.mu.Unlock()
			m.waiting = append(marks[i:], m.waiting...)
			return err
		}
	}
	return nil
}

// Forget removes the notes of days before one.
func (m *Marks) Forget(before int64) {
	m.noted.Range(func(account, last any) bool {
		if noted, ok := last.(petcat.QuotaMark); ok && noted.Day < before {
			m.noted.Delete(account)
		}
		return true
	})
}
