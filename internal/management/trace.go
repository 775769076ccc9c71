package management

import (
	"context"

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

// logRejected logs the rejection of a token.
func (a *API) logRejected(c *call, code petcat.Code) {
	limit := a.rejected[code]
	if limit == nil || !limit.Allow(a.Clock.Read().Mono) {
		return
	}
	a.Logger.WarnContext(c.ctx(), "token rejected",
		"request_id", c.w.Header().Get("X-Request-Id"),
		"route", web.Route(c.r),
		"code", code,
		"address", a.TrustedProxies.Client(c.r.RemoteAddr, c.r.Header))
}
