package importer

import (
	"context"
	"fmt"
	"slices"
	"time"

	"petcat/client"
)

// mayForget reports whether the service may have forgotten the idempotency key of a row
// whose outcome is unknown. After a clock was set back, that is assumed.
func (s sent) mayForget(now time.Time) bool {
	age := now.Sub(s.at)
	return age < 0 || age > keyLife
}

// doubtful reports whether a row must be resolved before it is sent.
func (j *Journal) doubtful(id rowID, now time.Time) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	s, ok := j.sent[id]
	return ok && s.mayForget(now)
}

// resolve finds out whether rows exist whose outcome is unknown and whose idempotency keys
// the service may have forgotten: sent again, they could be created twice. It looks for them
// in the part of the list that is newer than they are. A category with the same content that
// belongs to no other row is taken for the row's. If somebody else created it, the row is
// not created. No request may be in flight meanwhile. It returns how many rows it found.
func (j *Journal) resolve(ctx context.Context, s service, now time.Time) (found int, err error) {
	j.mu.Lock()
	rows, after := j.allDoubtful(now)
	taken := make(map[int64]bool, len(j.categories))
	for _, category := range j.categories {
		taken[category] = true
	}
	j.mu.Unlock()
	for page, err := range s.Pages(ctx, client.Paging{After: after}) {
		if err != nil {
			return found, fmt.Errorf("look in the list for rows whose outcome is unknown: %w", err)
		}
		for _, c := range page {
			says := contentOf(c.Name, c.Description)
			i := slices.IndexFunc(rows[says], func(r doubt) bool { return c.ID > r.after })
			if i < 0 || taken[c.ID] {
				continue
			}
			if err := j.created(rows[says][i].id, c.ID); err != nil {
				return found, err
			}
			rows[says] = slices.Delete(rows[says], i, i+1)
			found++
		}
	}
	var gone []rowID
	for _, left := range rows {
		for _, r := range left {
			gone = append(gone, r.id)
		}
	}
	return found, j.withdraw(gone...)
}

// doubt is a row that is to be looked for among categories with higher ids.
type doubt struct {
	id    rowID
	after int64
}

// allDoubtful returns the rows that must be resolved, by their content, and an id below the
// ids of all their categories. The caller holds mu.
func (j *Journal) allDoubtful(now time.Time) (rows map[content][]doubt, after int64) {
	rows, after = map[content][]doubt{}, j.last
	for id, s := range j.sent {
		if s.mayForget(now) {
			rows[id.content] = append(rows[id.content], doubt{id, s.after})
			after = min(after, s.after)
		}
	}
	return rows, after
}
