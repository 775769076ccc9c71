// Package management is the management API, /admin/v1: the operations of the command line and
// the console, for programs with an operator's token. docs/operations.md shows its use,
// api/management.yaml describes it.
package management

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"petcat"
	"petcat/internal/clientnet"
	"petcat/internal/clock"
	"petcat/internal/config"
	"petcat/internal/ratelimit"
	"petcat/internal/representation"
	"petcat/internal/web"
)

// Options for [New]. All fields are required unless their comment says otherwise.
type Options struct {
	Store petcat.ManagementStore
	Keys  petcat.KeyGenerator
	// Backups returns the last verified scheduled backup as JSON, if there is one.
	Backups func(context.Context) ([]any, error)
	// CustomerLink returns a link to the customer's page; nil if that page is off.
	CustomerLink func(petcat.Secret) string
	// Failures counts requests with an invalid token, by address.
	Failures *ratelimit.Bucket[clientnet.Net]
	// TrustedProxies are the proxies whose X-Forwarded-For is used. Optional.
	TrustedProxies *clientnet.Proxies
	Clock          clock.Clock
	Logger         *slog.Logger
}

// base is the base path of all operations.
const base = "/admin/v1"

// operation returns the result of a call, which show turns into JSON, or an error.
type operation func(c *call) (any, error)

// routes returns the operations of each path below base, by method.
func routes() map[string]map[string]operation {
	return map[string]map[string]operation{
		"/accounts":                    {"GET": listAccounts, "POST": on(nothing, with(createAccount))},
		"/accounts/{account}":          {"GET": on(account, found), "PATCH": on(account, with(changeAccount)), "DELETE": on(account, closeAccount)},
		"/accounts/{account}/keys":     {"GET": on(account, listKeys), "POST": on(account, with(createKey))},
		"/accounts/{account}/links":    {"POST": on(account, createLink)},
		"/accounts/{account}/usage":    {"GET": on(account, getUsage)},
		"/accounts/{account}/refusals": {"GET": on(account, listRefusals)},
		"/keys":                        {"GET": findKeysByHint},
		"/keys/find":                   {"POST": on(nothing, with(findKeys))},
		"/keys/{key}":                  {"GET": on(key, found), "PATCH": on(key, with(changeKey))},
		"/keys/{key}/rotate":           {"POST": on(key, with(rotateKey))},
		"/keys/{key}/disable":          {"POST": act(petcat.DisableKey)},
		"/keys/{key}/enable":           {"POST": act(petcat.EnableKey)},
		"/keys/{key}/revoke":           {"POST": act(petcat.RevokeKey)},
		"/bans":                        {"GET": listBans},
		"/bans/{key}":                  {"GET": on(key, getBan), "DELETE": on(key, liftBan)},
		"/plan-requests":               {"GET": listPlanRequests},
		"/plan-requests/{id}/approve":  {"POST": on(planRequest, with(approve))},
		"/plan-requests/{id}/decline":  {"POST": on(planRequest, decline)},
		"/plans":                       {"GET": listPlans},
		"/nodes":                       {"GET": listNodes},
		"/nodes/{label}/drain":         {"POST": drain(true)},
		"/nodes/{label}/resume":        {"POST": drain(false)},
		"/audit":                       {"GET": listAudit},
		"/usage/top":                   {"GET": topUsage},
		"/backups":                     {"GET": func(c *call) (any, error) { return c.Backups(c.ctx()) }},
	}
}

// New returns the management API.
func New(o Options) http.Handler {
	mux := http.NewServeMux()
	for path, methods := range routes() {
		mux.HandleFunc(base+path, func(w http.ResponseWriter, r *http.Request) { o.answer(w, r, methods) })
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { o.answer(w, r, nil) })
	return mux
}

// answer writes the response to a request.
func (o Options) answer(w http.ResponseWriter, r *http.Request, methods map[string]operation) {
	c := &call{Options: o, w: w, r: r, status: http.StatusOK}
	value, err := c.run(methods)
	var body []byte
	if err == nil {
		body, err = json.Marshal(c.show(value), json.Deterministic(true))
	}
	h := w.Header()
	if err != nil {
		public := petcat.Public(err)
		if public.Code == petcat.CodeInternalError || public.Code == petcat.CodeServiceUnavailable {
			if r.Context().Err() == nil { // else the client disconnected
				o.Logger.ErrorContext(r.Context(), "management request failed", "method", r.Method, "path", r.URL.Path, "error", err)
			}
			h.Set("Retry-After", "1")
		}
		web.WriteError(w, public)
		return
	}
	if c.location != "" {
		h.Set("Location", base+c.location)
	}
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(c.status)
	_, _ = w.Write(body) // the client may be gone
}

// show returns the JSON form of a value.
func (c *call) show(value any) any {
	if list, ok := value.([]any); ok {
		for i := range list {
			list[i] = c.show(list[i])
		}
		return list
	}
	return representation.Of(value, c.now())
}

// run calls the operation of the request's method.
func (c *call) run(methods map[string]operation) (any, error) {
	if err := c.identify(); err != nil {
		return nil, err
	}
	if methods == nil {
		return nil, petcat.Errorf(petcat.CodeNotFound, "there is nothing at this path; /admin/docs lists the operations")
	}
	method := strings.Replace(c.r.Method, http.MethodHead, http.MethodGet, 1)
	do, ok := methods[method]
	if !ok {
		allowed := slices.Sorted(maps.Keys(methods))
		c.w.Header().Set("Allow", strings.Join(allowed, ", "))
		return nil, petcat.Errorf(petcat.CodeMethodNotAllowed, "use %s here", strings.Join(allowed, " or "))
	}
	reads := method == http.MethodGet || c.r.URL.Path == base+"/keys/find" // a POST, to keep keys out of URLs
	if !reads && !c.token.Role.Changes() {
		return nil, petcat.Errorf(petcat.CodeForbidden, "a viewer's token cannot change anything; use one of an admin")
	}
	if !reads && method != http.MethodPost && c.r.Header["Idempotency-Key"] != nil {
		return nil, petcat.Errorf(petcat.CodeInvalidField,
			"%s takes no Idempotency-Key; leave it out, and repeat the request if its outcome is unknown",
			method).In("Idempotency-Key")
	}
	return do(c)
}

// identify authenticates a call. Only an invalid token counts as a failed attempt of the client's
// address.
func (c *call) identify() error {
	err := c.findToken()
	code := petcat.CodeOf(err)
	if code == petcat.CodeInvalidAPIKey {
		d := c.Failures.Take(clientnet.Of(c.TrustedProxies.Client(c.r.RemoteAddr, c.r.Header)))
		if d.Refused {
			c.w.Header().Set("Retry-After", strconv.FormatInt(d.RetryAfter, 10))
			return petcat.Errorf(petcat.CodeTooManyFailedAttempts,
				"too many attempts with a wrong token; wait until Retry-After has passed")
		}
	}
	if code == petcat.CodeInvalidAPIKey || code == petcat.CodeMissingAPIKey {
		c.w.Header().Set("WWW-Authenticate", `Bearer realm="petcat admin"`)
	}
	return err
}

// findToken finds the token of the Authorization header.
func (c *call) findToken() error {
	values := c.r.Header.Values("Authorization")
	if len(values) == 0 {
		return petcat.Errorf(petcat.CodeMissingAPIKey, "send a token of an operator as Authorization: Bearer <TOKEN>; petcat operator token create makes one")
	}
	scheme, credential, _ := strings.Cut(values[0], " ")
	if len(values) > 1 || !strings.EqualFold(scheme, "bearer") {
		return petcat.Errorf(petcat.CodeInvalidAPIKey, "send one token, as Authorization: Bearer <TOKEN>")
	}
	hash, err := petcat.ParseOperatorToken(strings.Trim(credential, " "))
	if err == nil {
		// A client that disconnects early is counted, too.
		c.token, err = c.Store.FindToken(context.WithoutCancel(c.ctx()), hash)
	}
	if state := c.token.State(c.now()); err == nil && state != petcat.KeyActive {
		err = petcat.Errorf(petcat.CodeInvalidAPIKey, "this token is %s; use another one", state)
	}
	return err
}

// call is a request and its response.
type call struct {
	Options

	w        http.ResponseWriter
	r        *http.Request
	token    petcat.OperatorToken
	status   int    // of a successful response
	location string // of the created record, below base
}

// maxBody is the maximum size of a body in bytes. No valid body comes close.
const maxBody = 64 << 10

func (c *call) ctx() context.Context     { return c.r.Context() }
func (c *call) query(name string) string { return c.r.URL.Query().Get(name) }
func (c *call) now() time.Time           { return c.Clock.Read().Time() }
func (c *call) actor() petcat.Actor      { return c.token.Actor() }
func (c *call) created(path string)      { c.status, c.location = http.StatusCreated, path }

// read decodes the body, a JSON object. Unknown members are ignored.
func (c *call) read(into any) error {
	if t := c.r.Header.Get("Content-Type"); t != "" && !strings.HasPrefix(strings.ToLower(t), "application/json") {
		return petcat.Errorf(petcat.CodeUnsupportedMediaType, "send the body as application/json")
	}
	if err := json.UnmarshalRead(http.MaxBytesReader(c.w, c.r.Body, maxBody), into); err != nil {
		return petcat.Errorf(petcat.CodeInvalidBody, "the body must be a JSON object of at most %d bytes whose members are as /admin/docs says", maxBody).WithCause(err)
	}
	return nil
}

// author returns who makes the change of a POST, with the Idempotency-Key that was sent. Other
// methods take no key: see [call.run].
func (c *call) author(body any) (petcat.Author, error) {
	keys := c.r.Header.Values("Idempotency-Key")
	if len(keys) == 0 {
		return petcat.By(c.actor()), nil
	}
	if len(keys) > 1 {
		return petcat.Author{}, petcat.Errorf(petcat.CodeInvalidField,
			"send at most one Idempotency-Key header").In("Idempotency-Key")
	}
	text, err := json.Marshal(body)
	if err != nil {
		return petcat.Author{}, err
	}
	return petcat.ParseAuthor(c.actor(), keys[0], c.r.URL.Path+" "+string(text))
}

// replayed marks the response to a request that was made before.
func (c *call) replayed() { c.w.Header().Set("Idempotent-Replayed", "true") }

// answer returns the resource of a change.
func answer[T any](c *call, r petcat.Result[T]) (any, error) {
	if r.Replayed {
		c.replayed()
	}
	return r.Value, nil
}

// all returns a whole list, or its error.
func all[T any](entries []T, err error) (any, error) {
	list := make([]any, len(entries))
	for i, entry := range entries {
		list[i] = entry
	}
	return list, err
}

// listed returns a page of a list, with a Link to the next one. The cursor C is the first member of
// an entry's record; parse parses it. For the first page, read gets the zero C.
func listed[T, C any](c *call, parse func(string) (C, error), read func(after C, limit int) ([]T, error)) (any, error) {
	limit, err := c.limit(petcat.MaxPage)
	if err != nil {
		return nil, err
	}
	var after C
	if text := c.query("after"); text != "" {
		if after, err = parse(text); err != nil {
			return nil, err
		}
	}
	page, err := read(after, limit)
	if err != nil {
		return nil, err
	}
	if len(page) == limit {
		q, last := c.r.URL.Query(), c.show(page[limit-1]).(representation.Record)
		q.Set("after", fmt.Sprint(last[0].Value))
		next := url.URL{Path: c.r.URL.Path, RawQuery: q.Encode()}
		c.w.Header().Set("Link", "<"+next.String()+`>; rel="next"`)
	}
	return all(page, nil)
}

// limit returns the requested maximum number of entries.
func (c *call) limit(byDefault int) (int, error) {
	n, err := strconv.Atoi(cmp.Or(c.query("limit"), strconv.Itoa(byDefault)))
	if err != nil || n < 1 || n > petcat.MaxPage {
		return 0, petcat.Errorf(petcat.CodeInvalidField, "limit must be from 1 to %d", petcat.MaxPage)
	}
	return n, nil
}

// number parses a numeric id.
func number[T ~int64](text string) (T, error) {
	id, isID := petcat.ParseID(text)
	if !isID {
		return 0, petcat.Errorf(petcat.CodeInvalidField, "an id here is a number from 1, without leading zeros")
	}
	return T(id), nil
}

// time returns a time of the query, zero for none.
func (c *call) time(name string) (t time.Time, err error) {
	text := c.query(name)
	if text == "" {
		return t, nil
	}
	t, err = config.ParseTime(text, func(ago time.Duration) time.Time { return c.now().Add(-ago) })
	if err != nil {
		err = petcat.Errorf(petcat.CodeInvalidField, "%s %v", name, err).In(name)
	}
	return t, err
}

// on returns an operation on the record in the path.
func on[T any](find func(c *call) (T, error), do func(c *call, record T) (any, error)) operation {
	return func(c *call) (any, error) {
		record, err := find(c)
		if err != nil {
			return nil, err
		}
		return do(c, record)
	}
}

// with returns an operation on a record and a body. No body is the same as {}.
func with[T, Body any](do func(c *call, record T, body Body) (any, error)) func(c *call, record T) (any, error) {
	return func(c *call, record T) (any, error) {
		var body Body
		if c.r.ContentLength != 0 {
			if err := c.read(&body); err != nil {
				return nil, err
			}
		}
		return do(c, record, body)
	}
}

// nothing is the record of a path without one.
func nothing(*call) (none struct{}, err error) { return none, nil }

// found returns the record in the path.
func found[T any](_ *call, record T) (any, error) { return record, nil }
