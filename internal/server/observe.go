package server

import (
	"net/http"
	"time"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/clientnet"
	"github.com/petcat-api/petcat/internal/httpapi"
	"github.com/petcat-api/petcat/internal/ratelimit"
	"github.com/petcat-api/petcat/internal/tracing"
	"github.com/petcat-api/petcat/internal/usage"
)

// observe logs a request. It counts an API request in the metrics and the usage history.
func (p *parts) observe(r *httpapi.Record) {
	if r.API {
		p.metrics.Request(r.Operation, r.Status, r.Code, r.Decision.Allowed, r.Duration)
		p.usage.Done(usage.Response{
			At:        r.At,
			Account:   r.Account,
			Key:       r.Key,
			Operation: r.Operation,
			Status:    r.Status,
			Code:      r.Code,
			Bytes:     r.Bytes,
		})
		if r.Account != 0 && isRejection(r) {
			p.usage.Rejected(rejectionOf(r))
		}
		p.trace(r)
	}
	if r.Deprecated {
		p.metrics.Deprecated(r.Operation, r.Account)
	}
	p.Log.Access(&r.Access)
}

// isRejection reports whether a request was rejected because of the quotas, a ban or the key, or failed.
func isRejection(r *httpapi.Record) bool {
	return r.Status == http.StatusTooManyRequests ||
		r.Status == http.StatusUnauthorized ||
		r.Code == petcat.CodeAddressNotAllowed ||
		r.Status >= http.StatusInternalServerError
}

// rejectionOf returns the record of a rejected or failed request for operators.
func rejectionOf(r *httpapi.Record) petcat.Rejection {
	d := r.Decision
	rejection := petcat.Rejection{
		Account:   r.Account,
		Key:       r.Key,
		Operation: r.Operation,
		Code:      r.Code,
		Last:      r.At,
		RequestID: r.RequestID,
		Status:    r.Status,
		Minute:    petcat.QuotaUsage{Used: d.Minute.Used, Limit: d.Minute.Limit},
		Day:       petcat.QuotaUsage{Used: d.Day.Used, Limit: d.Day.Limit},
	}
	if d.Outcome != ratelimit.Allowed {
		rejection.Until = time.Unix(d.Effective.Reset, 0).UTC()
	}
	return rejection
}

// trace records the span of a request, if tracing is enabled.
func (p *parts) trace(r *httpapi.Record) {
	if p.tracing == nil {
		return
	}
	attributes := map[string]string{
		"error.type":        string(r.Code),
		"petcat.request_id": r.RequestID,
	}
	if r.Operation != "" { // else the method may be any text
		attributes["http.request.method"] = r.Method
	}
	if r.Account != 0 {
		attributes["petcat.account"] = r.Account.String()
	}
	p.tracing.Record(tracing.Request{
		Header:     r.RequestHeader,
		Trusted:    p.proxies.Contain(clientnet.Remote(r.Remote)),
		Operation:  string(r.Operation),
		Status:     r.Status,
		Start:      r.At,
		Duration:   r.Duration,
		Attributes: attributes,
	})
}
