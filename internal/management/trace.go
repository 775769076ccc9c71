package management

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/web"
)

// used records that the token of a call was used: in the access log, and once a minute in the store.
func (a *API) used(c *call) {
	web.SetActor(c.w, c.token.Actor())
	if !c.token.Stale(c.now) {
		return
	}
	// The use is recorded even if the client disconnects.
	ctx := context.WithoutCancel(c.ctx())
	if err := a.Store.TouchToken(ctx, c.token.ID); err != nil {
		// Reads must work if the store cannot be written.
		a.Logger.WarnContext(ctx, "token use not recorded", "token", string(c.token.Name), "error", err)
	}
}

// oncePerSecond limits log lines that strangers can cause.
type oncePerSecond struct{ next atomic.Int64 } // the earliest time of the next line, in Unix milliseconds

// take reports whether a line may be logged at now.
func (o *oncePerSecond) take(now time.Time) bool {
	at, next := now.UnixMilli(), o.next.Load()
	return at >= next && o.next.CompareAndSwap(next, at+time.Second.Milliseconds())
}

// logRejected logs the rejection of a token.
func (a *API) logRejected(c *call, code petcat.Code) {
	limit := a.rejected[code]
	if limit == nil || !limit.take(c.now) {
		return
	}
	a.Logger.WarnContext(c.ctx(), "token rejected",
		"request_id", c.w.Header().Get("X-Request-Id"),
		"route", web.Route(c.r),
		"code", code,
		"address", a.TrustedProxies.Client(c.r.RemoteAddr, c.r.Header))
}
