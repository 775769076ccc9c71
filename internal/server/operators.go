package server

import (
	"net/http"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/clientnet"
	"github.com/petcat-api/petcat/internal/logging"
	"github.com/petcat-api/petcat/internal/web"
)

// recordOperators logs and counts each request for the console, the profiles and the management API,
// with the operator or the token that sent it. All responses of the admin listener have an X-Request-Id.
func (b base) recordOperators(next http.Handler) http.Handler {
	ids := web.NewRequestIDs()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := ids.Of(r, b.proxies.Contain(clientnet.Remote(r.RemoteAddr)))
		w.Header().Set("X-Request-Id", id)
		if !isPrivate(r.URL.Path) {
			next.ServeHTTP(w, r)
			return
		}
		start := b.Clock.Read()
		record := &web.Record{ResponseWriter: w}
		defer func() { // also after a panic of http.ErrAbortHandler
			b.metrics.AdminRequest(web.Route(r), record.Status)
			b.Log.Access(&logging.Access{
				At:        start.Time(),
				RequestID: id,
				Method:    r.Method,
				Route:     web.Pattern(r),
				Status:    record.Status,
				Code:      record.Code,
				Actor:     record.Actor,
				Address:   b.proxies.Client(r.RemoteAddr, r.Header),
				Duration:  b.Clock.Read().Since(start),
				Bytes:     record.Bytes,
			})
		}()
		if web.HasSecret(r.URL) {
			web.WriteError(record, petcat.Errorf(petcat.CodeInvalidToken,
				"a key or token must not be in the URL, where logs keep it; "+
					"send keys in the body of POST /admin/v1/keys/find, and replace this one"))
			return
		}
		next.ServeHTTP(record, r)
	})
}
