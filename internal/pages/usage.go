package pages

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/ratelimit"
)

// Limiter reports the usage of an account without charging it.
type Limiter interface {
	Peek(ctx context.Context, c ratelimit.Charge) (ratelimit.Decision, error)
}

// Window is a named window of the limiter.
type Window struct {
	Name string
	ratelimit.WindowState
}

// End returns the end of the window.
func (w Window) End() time.Time { return time.Unix(w.Reset, 0) }

// Windows returns the windows of an account, or nil if its usage is unknown.
func (x *Exchange) Windows(l Limiter, a petcat.Account) []Window {
	if a.Closed() {
		return nil
	}
	d, err := l.Peek(x.R.Context(), ratelimit.Charge{
		Account: a.ID,
		Quota:   a.Quota,
	})
	if err != nil {
		return nil
	}
	return []Window{
		{"this minute", d.Minute},
		{"today", d.Day},
	}
}

// Parts has the usage of accounts by key and operation.
type Parts interface {
	FindKey(ctx context.Context, id petcat.KeyID) (petcat.Key, error)
	UsageParts(ctx context.Context, q petcat.UsageQuery) ([]petcat.UsagePart, error)
}

// UsageDetail is what used up an account's requests, the largest first.
type UsageDetail struct {
	Keys       []KeyUsage
	Operations []OperationUsage
}

// KeyUsage is the usage of a key. Its id is 0 for requests that were not counted apart.
type KeyUsage struct {
	petcat.UsageDetail

	Label string
}

// OperationUsage is the usage of an operation.
type OperationUsage struct {
	petcat.UsageDetail

	Deprecated bool
}

// maxDetail is the maximum number of keys and operations on a page.
const maxDetail = 20

// UsageDetail returns the keys and operations of the usage that q selects. It is empty if q begins
// before the first day that is kept.
func (x *Exchange) UsageDetail(s Parts, q petcat.UsageQuery) (d UsageDetail, err error) {
	keys, err := x.largest(s, q, petcat.GroupByKey)
	if err != nil {
		return d, err
	}
	for _, u := range keys {
		var k petcat.Key
		if u.Key != 0 {
			if k, err = s.FindKey(x.R.Context(), u.Key); err != nil {
				return d, err
			}
		}
		d.Keys = append(d.Keys, KeyUsage{UsageDetail: u, Label: k.Label})
	}
	operations, err := x.largest(s, q, petcat.GroupByOperation)
	if err != nil {
		return d, err
	}
	for _, u := range operations {
		deprecated := slices.ContainsFunc(petcat.Operations(), func(o petcat.Operation) bool {
			return o.ID == u.Operation && o.Deprecated()
		})
		d.Operations = append(d.Operations, OperationUsage{UsageDetail: u, Deprecated: deprecated})
	}
	return d, nil
}

// largest returns the largest parts of the usage by a group.
func (x *Exchange) largest(s Parts, q petcat.UsageQuery, group petcat.UsageGroup) ([]petcat.UsageDetail, error) {
	q, err := q.GroupBy(group, x.site.now())
	if err != nil {
		return nil, nil //nolint:nilerr // the page shows the usage without it
	}
	parts, err := s.UsageParts(x.R.Context(), q)
	if err != nil {
		return nil, err
	}
	sums := petcat.SumUsage(parts)
	slices.SortStableFunc(sums, func(a, b petcat.UsageDetail) int {
		return cmp.Compare(b.Requests+b.Rejected, a.Requests+a.Rejected)
	})
	return sums[:min(len(sums), maxDetail)], nil
}

// usageChart is a usage history for its chart. Times are Unix seconds.
type usageChart struct {
	From int64 `json:"from"`
	// Periods have their beginning, and the numbers of allowed, rejected and failed requests.
	Periods [][4]int64 `json:"periods"`
	Step    float64    `json:"step"` // in seconds
	To      int64      `json:"to"`
}

// WriteUsage sends the usage history of a query for its chart. The chart does not extend beyond now,
// because a browser draws every period until its end.
func (x *Exchange) WriteUsage(q petcat.UsageQuery, h petcat.UsageHistory) error {
	chart := usageChart{
		From:    q.Step.Floor(q.From).Unix(),
		To:      min(q.To.Unix(), x.site.now().Unix()),
		Step:    q.Step.Length().Seconds(),
		Periods: [][4]int64{},
	}
	for _, p := range h.Periods {
		chart.Periods = append(chart.Periods, [4]int64{
			p.Begin.Unix(),
			p.Requests,
			p.Rejected(),
			p.Failed,
		})
	}
	return x.WriteJSON(chart)
}
