package server

import (
	"context"
	"net/http"
	"time"

	"petcat"
	"petcat/internal/httpapi"
	"petcat/internal/ratelimit"
	"petcat/internal/usage"
)

// usageTimeout is how long a node that stops tries to write its last counts. If the store
// is unavailable for that long, they are missing from the usage history, which then shows a
// gap.
const usageTimeout = 3 * time.Second

// startUsage starts to write what the node has counted since it opened its listeners. The
// first write is before any request is admitted: only a node that the usage history knows
// leaves a gap in it when it is killed.
func (n *Node) startUsage(ctx context.Context) error {
	n.usage.Open(n.backend)
	n.usage.Flush(ctx)
	n.every(n.usage.Wait, n.usage.Flush)
	n.onClose(func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, usageTimeout)
		defer cancel()
		n.usage.Close(ctx)
		return nil
	})
	return nil
}

// countUsage counts the end of a request. That it was admitted is counted by then.
func (n *Node) countUsage(r *httpapi.Record) {
	n.usage.Done(usage.Response{At: r.At, Account: r.Account, Key: r.Key, Status: r.Status, Code: r.Code, Bytes: r.Bytes})
	if r.Account != 0 && (r.Status == http.StatusTooManyRequests || r.Status >= http.StatusInternalServerError) {
		n.usage.Refused(refusalOf(r))
	}
}

// refusalOf returns what operators see of a request that was refused or failed.
func refusalOf(r *httpapi.Record) petcat.Refusal {
	d := r.Decision
	refusal := petcat.Refusal{
		Account: r.Account, Key: r.Key, Operation: r.Operation, Code: r.Code, Last: r.At, RequestID: r.RequestID, Status: r.Status,
		Minute: petcat.Spent{Used: d.Minute.Limit - d.Minute.Remaining, Limit: d.Minute.Limit},
		Day:    petcat.Spent{Used: d.Day.Limit - d.Day.Remaining, Limit: d.Day.Limit},
	}
	if d.Verdict != ratelimit.Admitted {
		refusal.Until = time.Unix(d.Effective.Reset, 0).UTC()
	}
	return refusal
}
