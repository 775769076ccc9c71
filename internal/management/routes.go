package management

import (
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/web"
)

// base is the path prefix of all routes.
const base = "/admin/v1"

// route is an operation: a method of a path below base.
type route struct {
	method string // a GET is also a HEAD
	path   string
	handle func(c *call) error
	// changes is true if the operation changes something. A viewer gets 403. A POST takes an
	// Idempotency-Key; other methods reject it.
	changes bool
}

// routes returns the whole surface of the API.
func (a *API) routes() []route {
	return slices.Concat(a.customerRoutes(), a.serviceRoutes())
}

// customerRoutes are the operations on customers: accounts, keys, bans and what they stored.
func (a *API) customerRoutes() []route {
	return []route{
		{method: "GET", path: "/accounts", handle: a.listAccounts},
		{method: "POST", path: "/accounts", handle: a.createAccount, changes: true},
		{method: "GET", path: "/accounts/{account}", handle: a.getAccount},
		{method: "PATCH", path: "/accounts/{account}", handle: a.editAccount, changes: true},
		{method: "DELETE", path: "/accounts/{account}", handle: a.closeAccount, changes: true},
		{method: "GET", path: "/accounts/{account}/keys", handle: a.listKeys},
		{method: "POST", path: "/accounts/{account}/keys", handle: a.createKey, changes: true},
		{method: "POST", path: "/accounts/{account}/links", handle: a.createLink, changes: true},
		{method: "POST", path: "/accounts/{account}/sign-out", handle: a.signOut, changes: true},
		{method: "POST", path: "/accounts/{account}/purge", handle: a.purgeAccount, changes: true},
		{method: "GET", path: "/accounts/{account}/usage", handle: a.getUsage},
		{method: "GET", path: "/accounts/{account}/rejections", handle: a.listRejections},

		{method: "GET", path: "/keys", handle: a.listAllKeys},
		{method: "POST", path: "/keys/find", handle: a.findKeys}, // a POST, to keep keys out of URLs
		{method: "GET", path: "/keys/{key}", handle: a.getKey},
		{method: "PATCH", path: "/keys/{key}", handle: a.editKey, changes: true},
		{method: "POST", path: "/keys/{key}/rotate", handle: a.rotateKey, changes: true},
		{method: "POST", path: "/keys/{key}/disable", handle: a.disableKey, changes: true},
		{method: "POST", path: "/keys/{key}/enable", handle: a.enableKey, changes: true},
		{method: "POST", path: "/keys/{key}/revoke", handle: a.revokeKey, changes: true},

		{method: "GET", path: "/categories/{category}", handle: a.getCategory},
		{method: "PATCH", path: "/categories/{category}", handle: a.editCategory, changes: true},
		{method: "DELETE", path: "/categories/{category}", handle: a.deleteCategory, changes: true},
		{method: "DELETE", path: "/pets/{pet}", handle: a.deletePet, changes: true},

		{method: "GET", path: "/bans", handle: a.listBans},
		{method: "GET", path: "/bans/{key}", handle: a.getBan},
		{method: "DELETE", path: "/bans/{key}", handle: a.liftBan, changes: true},

		{method: "GET", path: "/plans", handle: a.listPlans},
		{method: "GET", path: "/plan-requests", handle: a.listPlanRequests},
		{method: "POST", path: "/plan-requests/{id}/approve", handle: a.approvePlanRequest, changes: true},
		{method: "POST", path: "/plan-requests/{id}/decline", handle: a.declinePlanRequest, changes: true},
	}
}

// serviceRoutes are the operations on the service itself.
func (a *API) serviceRoutes() []route {
	return []route{
		{method: "GET", path: "/operators", handle: a.listOperators},
		{method: "POST", path: "/operators", handle: a.createOperator, changes: true},
		{method: "DELETE", path: "/operators/{operator}", handle: a.removeOperator, changes: true},

		{method: "GET", path: "/tokens", handle: a.listTokens},
		{method: "POST", path: "/tokens", handle: a.createToken, changes: true},
		{method: "POST", path: "/tokens/{token}/revoke", handle: a.revokeToken, changes: true},

		{method: "GET", path: "/events", handle: a.listEvents},
		{method: "GET", path: "/webhooks", handle: a.listWebhooks},
		{method: "POST", path: "/webhooks", handle: a.createWebhook, changes: true},
		{method: "GET", path: "/webhooks/{webhook}", handle: a.getWebhook},
		{method: "DELETE", path: "/webhooks/{webhook}", handle: a.deleteWebhook, changes: true},
		{method: "POST", path: "/webhooks/{webhook}/rotate", handle: a.rotateWebhook, changes: true},
		{method: "POST", path: "/webhooks/{webhook}/test", handle: a.testWebhook, changes: true},
		{method: "POST", path: "/webhooks/{webhook}/enable", handle: a.enableWebhook, changes: true},
		{method: "POST", path: "/webhooks/{webhook}/disable", handle: a.disableWebhook, changes: true},

		{method: "GET", path: "/nodes", handle: a.listNodes},
		{method: "POST", path: "/nodes/{label}/drain", handle: a.drainNode, changes: true},
		{method: "POST", path: "/nodes/{label}/resume", handle: a.resumeNode, changes: true},

		{method: "GET", path: "/log-level", handle: a.getLogLevel},
		{method: "POST", path: "/log-level", handle: a.setLogLevel, changes: true},
		{method: "DELETE", path: "/log-level", handle: a.resetLogLevel, changes: true},

		{method: "GET", path: "/audit", handle: a.listAudit},
		{method: "GET", path: "/audit/verify", handle: a.verifyAudit},
		{method: "GET", path: "/usage", handle: a.getTotalUsage},
		{method: "GET", path: "/usage/top", handle: a.topUsage},
		{method: "GET", path: "/backups", handle: a.listBackups},
	}
}

// register adds all routes to the mux.
func (a *API) register() {
	resources := make(map[string]map[string]route) // by path, then by method
	for _, r := range a.routes() {
		if resources[r.path] == nil {
			resources[r.path] = make(map[string]route)
		}
		resources[r.path][r.method] = r
	}
	for path, methods := range resources {
		a.mux.HandleFunc(base+path, func(w http.ResponseWriter, r *http.Request) {
			a.serve(w, r, methods)
		})
	}
	a.mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		a.serve(w, r, nil)
	})
}

// serve responds to a request. methods are the routes of its path, nil if there are none.
func (a *API) serve(w http.ResponseWriter, r *http.Request, methods map[string]route) {
	c := &call{w: w, r: r, now: a.Clock.Read().Time()}
	if err := a.dispatch(c, methods); err != nil {
		a.sendError(c, err)
	}
}

// dispatch calls the handler of the request's method. It returns the errors 401, 429, 404, 405 and
// 403, and 400 for an Idempotency-Key that the operation does not take.
func (a *API) dispatch(c *call, methods map[string]route) error {
	if err := web.CheckText(c.r.URL.Path); err != nil {
		return err
	}
	if err := web.CheckValues(c.r.URL.Query()); err != nil {
		return err
	}
	if err := a.identify(c); err != nil {
		return err
	}
	a.used(c)
	if methods == nil {
		return petcat.Errorf(petcat.CodeNotFound,
			"this path does not exist; /admin/docs lists the operations")
	}
	method := c.r.Method
	if method == http.MethodHead {
		method = http.MethodGet
	}
	route, found := methods[method]
	if !found {
		allowed := slices.Sorted(maps.Keys(methods))
		c.w.Header().Set("Allow", strings.Join(allowed, ", "))
		return petcat.Errorf(petcat.CodeMethodNotAllowed, "use %s here", strings.Join(allowed, " or "))
	}
	if route.changes && !c.token.Role.Changes() {
		return petcat.Errorf(petcat.CodeForbidden,
			"a viewer's token cannot change anything; use one of an admin")
	}
	if route.changes && method != http.MethodPost && c.r.Header["Idempotency-Key"] != nil {
		// It would be ignored, and the client would rely on it.
		return petcat.Errorf(petcat.CodeInvalidField,
			"%s takes no Idempotency-Key; leave it out, and repeat the request if its outcome is unknown",
			method).In("Idempotency-Key")
	}
	return route.handle(c)
}
