// Package management is the management API, /admin/v1: what the command line and the console
// do, for programs. Its callers are operators' tokens, and it calls the same operations of the
// store. docs/operations.md shows how it is used, api/management.yaml describes it.
package management

import (
	"context"
	"errors"
	"fmt"
	"io"
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
	"petcat/internal/httpapi"
	"petcat/internal/ratelimit"
)

// Store is what the management API reads and changes.
type Store interface { //nolint:interfacebloat // a sum of small ones
	petcat.AccountStore
	petcat.KeyStore
	petcat.BanStore
	petcat.AuditStore
	petcat.UsageStore
	petcat.NodeStore
	petcat.OperatorTokenStore
	petcat.CustomerStore
	petcat.PlanRequestStore
}

// Options for a [Server]. All fields are required unless their comment says otherwise.
type Options struct {
	Store       Store
	Environment petcat.Environment
	// LastBackup returns the last scheduled backup that was verified, as JSON; nil before the first.
	LastBackup func(context.Context) (any, error)
	// CustomerLink returns a link to the customer's page; nil if that is not served.
	CustomerLink func(petcat.Secret) string
	// Failures counts failed attempts with a token, by address.
	Failures *ratelimit.Bucket[clientnet.Net]
	// TrustedProxies are the proxies whose X-Forwarded-For is trusted. Optional.
	TrustedProxies *clientnet.Proxies
	Clock          clock.Clock
	Logger         *slog.Logger
	Random         io.Reader // cryptographically secure
}

// Server is the management API as an http.Handler. Use [New].
type Server struct {
	Options

	mux http.ServeMux
}

// base is the path of all operations.
const base = "/admin/v1"

// operation answers a call with a value that is written as JSON, or returns an error.
type operation func(c *call) (any, error)

// New returns the management API.
func New(o Options) *Server {
	s := &Server{Options: o}
	for path, methods := range map[string]map[string]operation{
		"/accounts":                    {"GET": listAccounts, "POST": on(nothing, with(createAccount))},
		"/accounts/{account}":          {"GET": on(account, getAccount), "PATCH": on(account, with(changeAccount)), "DELETE": on(account, closeAccount)},
		"/accounts/{account}/keys":     {"GET": on(account, listKeys), "POST": on(account, with(createKey))},
		"/accounts/{account}/links":    {"POST": on(account, createLink)},
		"/accounts/{account}/usage":    {"GET": on(account, getUsage)},
		"/accounts/{account}/refusals": {"GET": on(account, listRefusals)},
		"/keys":                        {"GET": findKeysByHint},
		"/keys/find":                   {"POST": on(nothing, with(findKeys))},
		"/keys/{key}":                  {"GET": on(key, getKey), "PATCH": on(key, with(changeKey))},
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
		"/backups":                     {"GET": listBackups},
	} {
		s.mux.HandleFunc(base+path, func(w http.ResponseWriter, r *http.Request) { s.answer(w, r, methods) })
	}
	s.mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { s.answer(w, r, nil) })
	return s
}

// ServeHTTP implements [http.Handler].
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

// answer finds out who calls, and lets the operation of the request's method answer.
func (s *Server) answer(w http.ResponseWriter, r *http.Request, methods map[string]operation) {
	c := &call{Server: s, w: w, r: r, status: http.StatusOK}
	value, err := c.run(methods)
	if err != nil {
		public := petcat.Public(err)
		if public.Code == petcat.CodeInternalError || public.Code == petcat.CodeServiceUnavailable {
			s.Logger.ErrorContext(r.Context(), "a management request failed", "method", r.Method, "path", r.URL.Path, "error", err)
			w.Header().Set("Retry-After", "1")
		}
		httpapi.WriteError(w, public)
		return
	}
	c.write(value)
}

func (c *call) run(methods map[string]operation) (any, error) {
	if err := c.identify(); err != nil {
		return nil, err
	}
	if methods == nil {
		return nil, petcat.Errorf(petcat.CodeNotFound, "there is nothing at this path; /admin/docs lists the operations")
	}
	method := c.r.Method
	if method == http.MethodHead {
		method = http.MethodGet
	}
	do, ok := methods[method]
	if !ok {
		allowed := slices.Sorted(maps.Keys(methods))
		c.w.Header().Set("Allow", strings.Join(allowed, ", "))
		return nil, petcat.Errorf(petcat.CodeMethodNotAllowed, "use %s here", strings.Join(allowed, " or "))
	}
	if method != http.MethodGet && !c.token.Role.Changes() {
		return nil, petcat.Errorf(petcat.CodeForbidden, "a viewer's token cannot change anything; use one of an admin")
	}
	return do(c)
}

// identify finds the token of a call. Who fails too often is refused without a look-up.
func (c *call) identify() error {
	from := clientnet.Of(c.TrustedProxies.Client(c.r.RemoteAddr, c.r.Header))
	if d := c.Failures.Peek(from); d.Minute.Remaining <= 0 {
		c.w.Header().Set("Retry-After", strconv.FormatInt(max(1, d.Minute.Reset-c.now().Unix()), 10))
		return petcat.Errorf(petcat.CodeTooManyFailedAttempts, "too many attempts with a wrong token; wait until Retry-After has passed")
	}
	err := c.findToken()
	if code := petcat.CodeOf(err); code == petcat.CodeMissingAPIKey || code == petcat.CodeInvalidAPIKey {
		c.w.Header().Set("WWW-Authenticate", `Bearer realm="petcat admin"`)
		if code == petcat.CodeInvalidAPIKey {
			c.Failures.Take(from)
		}
	}
	return err
}

// findToken finds the token that the request carries.
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
	if err != nil {
		return err
	}
	if c.token, err = c.Store.FindToken(c.r.Context(), hash); err != nil {
		return err
	}
	if state := c.token.State(c.now()); state != petcat.KeyActive {
		return petcat.Errorf(petcat.CodeInvalidAPIKey, "this token is %s; use another one", state)
	}
	return nil
}

// call is one request and its answer.
type call struct {
	*Server

	w      http.ResponseWriter
	r      *http.Request
	token  petcat.OperatorToken
	status int // of the answer, if it is no error
}

// object is a JSON object of an answer.
type object map[string]any

// maxBody is far above the largest body, in bytes.
const maxBody = 64 << 10

// now returns the wall clock's time in UTC.
func (c *call) now() time.Time { return c.Clock.Read().Time() }

// actor returns who makes the change, for the audit log.
func (c *call) actor() petcat.Actor { return c.token.Actor() }

// write answers with a value as JSON.
func (c *call) write(value any) {
	body, err := json.Marshal(value, json.Deterministic(true))
	if err != nil { // a fault of the types in this package
		c.Logger.ErrorContext(c.r.Context(), "a management answer could not be encoded", "error", err)
		c.status, body = http.StatusInternalServerError, []byte(`{"code":"internal_error","message":"the answer could not be written","status":500}`)
	}
	h := c.w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-store")
	c.w.WriteHeader(c.status)
	_, _ = c.w.Write(body) // the client has gone
}

// created makes the answer 201, with where the record is.
func (c *call) created(path string) {
	c.status = http.StatusCreated
	c.w.Header().Set("Location", base+path)
}

// read reads the body, a JSON object, into a struct. Unknown members are ignored.
func (c *call) read(into any) error {
	if t := c.r.Header.Get("Content-Type"); t != "" && !strings.HasPrefix(strings.ToLower(t), "application/json") {
		return petcat.Errorf(petcat.CodeUnsupportedMediaType, "send the body as application/json")
	}
	if err := json.UnmarshalRead(http.MaxBytesReader(c.w, c.r.Body, maxBody), into); err != nil {
		return petcat.Errorf(petcat.CodeInvalidBody, "the body must be a JSON object of at most %d bytes whose members are as /admin/docs says", maxBody).WithCause(err)
	}
	return nil
}

// once creates something, or finds what an earlier request with the same Idempotency-Key
// created, and makes the answer 201.
func once[T any](c *call, body any, create func(context.Context) (T, error), find func(subject string) (T, error)) (made T, replayed bool, err error) {
	ctx := c.r.Context()
	if sent := c.r.Header.Get("Idempotency-Key"); sent != "" {
		key, err := petcat.ParseIdempotencyKey(sent)
		if err != nil {
			return made, false, err
		}
		text, err := json.Marshal(body)
		if err != nil {
			return made, false, err
		}
		ctx = petcat.WithOnce(ctx, petcat.Once{By: c.actor(), Key: key, Request: c.r.URL.Path + " " + string(text)})
	}
	made, err = create(ctx)
	if repeated, ok := errors.AsType[*petcat.RepeatedError](err); ok {
		replayed = true
		c.w.Header().Set("Idempotent-Replayed", "true")
		made, err = find(repeated.Subject)
	}
	return made, replayed, err
}

// listed reads a page of a list, shows its entries, and links to the next page. read gets the
// member named id of the entry that the page follows, "" for the first page.
func listed[T any](c *call, id string, show func(T) object, read func(after string, limit int) ([]T, error)) (any, error) {
	q := c.r.URL.Query()
	limit, err := c.limit(petcat.MaxPage)
	if err != nil {
		return nil, err
	}
	page, err := read(q.Get("after"), limit)
	if err != nil {
		return nil, err
	}
	shown := make([]object, len(page))
	for i, entry := range page {
		shown[i] = show(entry)
	}
	if len(page) == limit {
		q.Set("after", fmt.Sprint(shown[limit-1][id]))
		next := url.URL{Path: c.r.URL.Path, RawQuery: q.Encode()}
		c.w.Header().Set("Link", "<"+next.String()+`>; rel="next"`)
	}
	return shown, nil
}

// limit reads how many entries are wanted at most.
func (c *call) limit(otherwise int) (int, error) {
	text := c.r.URL.Query().Get("limit")
	if text == "" {
		return otherwise, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > petcat.MaxPage {
		return 0, petcat.Errorf(petcat.CodeInvalidField, "limit must be from 1 to %d", petcat.MaxPage)
	}
	return n, nil
}

// number reads an id that is a number; 0 for "".
func number(text string) (int64, error) {
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 1 {
		return 0, petcat.Errorf(petcat.CodeInvalidField, "an id here is a number from 1")
	}
	return n, nil
}

// time returns a time of the query: a day, from its beginning in UTC, or an instant.
func (c *call) time(name string, otherwise time.Time) (time.Time, error) {
	text := c.r.URL.Query().Get(name)
	if text == "" {
		return otherwise, nil
	}
	if day, err := time.Parse(time.DateOnly, text); err == nil {
		return day, nil
	}
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return t, petcat.Errorf(petcat.CodeInvalidField, "%s must be a day such as 2027-01-31, or a time such as 2027-01-31T12:00:00Z", name)
	}
	return t.UTC(), nil
}

// on returns an operation on the record that the path names.
func on[T any](find func(c *call) (T, error), do func(c *call, record T) (any, error)) operation {
	return func(c *call) (any, error) {
		record, err := find(c)
		if err != nil {
			return nil, err
		}
		return do(c, record)
	}
}

// with returns an operation on a record that reads a body; none is like {}.
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

// nothing is the record of an operation whose path names none.
func nothing(*call) (none struct{}, err error) { return none, nil }

// moment returns a time as JSON shows it, nil for none.
func moment(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}
