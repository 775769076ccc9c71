package httpapi

import (
	"cmp"
	"net/http"
	"time"

	"github.com/petcat-api/petcat"
)

// The maximum numbers of periods in a response of getUsageHistory.
const (
	maxHistoryHours = 168
	maxHistoryDays  = 92
)

// maxTime is the last time of a query, in Unix seconds: the end of the year 9999.
const maxTime = 253_402_300_799

// historyEntry is the usage of a period, or of a key or an operation in it.
type historyEntry struct {
	Start     int64  `json:"start"`
	Key       string `json:"key,omitempty"`
	Operation string `json:"operation,omitempty"`
	Requests  int64  `json:"requests"`
	Rejected  int64  `json:"rejected"`
	Failed    int64  `json:"failed"`
}

// getUsageHistory handles GET /usage/history.
func (s *Server) getUsageHistory(e *exchange) error {
	d, err := s.options.Limiter.Peek(e.r.Context(), e.charge())
	if err != nil {
		return err
	}
	s.setLimits(e, d)
	q, err := e.historyQuery()
	if err != nil {
		return err
	}
	entries, err := s.history(e, q)
	if err != nil {
		return err
	}
	e.sendJSON(http.StatusOK, marshal(entries))
	return nil
}

// history returns the usage that a query selects.
func (s *Server) history(e *exchange, q petcat.UsageQuery) ([]historyEntry, error) {
	entries := []historyEntry{}
	if q.Group == petcat.Ungrouped {
		h, err := s.options.Store.Usage(e.r.Context(), q)
		for _, p := range h.Periods {
			entries = append(entries, historyEntry{
				Start:    p.Begin.Unix(),
				Requests: p.Requests,
				Rejected: p.Rejected(),
				Failed:   p.Failed,
			})
		}
		return entries, err
	}
	parts, err := s.options.Store.UsageParts(e.r.Context(), q)
	for _, p := range parts {
		entry := historyEntry{
			Start:     p.Begin.Unix(),
			Operation: string(p.Operation),
			Requests:  p.Requests,
			Rejected:  p.Rejected,
			Failed:    p.Failed,
		}
		if p.Key != 0 {
			entry.Key = p.Key.String()
		}
		entries = append(entries, entry)
	}
	return entries, err
}

// historyQuery returns the query of a request.
func (e *exchange) historyQuery() (q petcat.UsageQuery, err error) {
	values, err := e.query()
	if err != nil {
		return q, err
	}
	asked := page{query: values}
	from, err := asked.time("from")
	if err != nil {
		return q, err
	}
	to, err := asked.time("to")
	if err != nil {
		return q, err
	}
	by := cmp.Or(petcat.UsageStep(values.Get("by")), petcat.UsageByDay)
	if q, err = petcat.ParseUsageQuery(e.caller.Account, by, from, to, e.At); err != nil {
		return q, err
	}
	if q, err = q.GroupBy(petcat.UsageGroup(values.Get("group")), e.At); err != nil {
		return q, err
	}
	most := time.Duration(maxHistoryDays)
	if by == petcat.UsageByHour {
		most = maxHistoryHours
	}
	if q.To.Sub(q.From) > most*by.Length() {
		return q, petcat.Errorf(petcat.CodeInvalidField,
			"a usage history has at most %d hours or %d days; set from and to, and send several requests for more",
			maxHistoryHours, maxHistoryDays).In("from")
	}
	return q, nil
}

// time returns a query parameter in Unix seconds, the zero time if it is absent.
func (p page) time(name string) (time.Time, error) {
	unix, err := p.parameter(name, 0, maxTime, 0)
	if err != nil || !p.query.Has(name) {
		return time.Time{}, err
	}
	return time.Unix(unix, 0).UTC(), nil
}
