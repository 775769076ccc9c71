//go:build go1.26

package petcat_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	petcat "github.com/petcat-api/petcat/client"
)

// The scenarios of all clients; clients/README.md describes the file.
type (
	scenario struct {
		Name   string
		Client struct {
			BaseURL    *string `json:"base_url"`
			Key        *string
			MaxRetries *int     `json:"max_retries"`
			MaxWait    *float64 `json:"max_wait"`
			Timeout    *float64
			AppName    string `json:"app_name"`
		}
		Latency float64
		Script  []exchange
		Calls   []action
		Limits  any
		Waits   [][]float64
		Error   *failureWanted
	}
	exchange struct {
		Want struct {
			Method, URL, Idempotency string
			Body                     any
			Headers                  map[string]*string
			After                    []float64
		}
		Response struct {
			Status  int
			Headers map[string]string
			Body    json.RawMessage
			Text    string
		}
		Fault string
	}
	action struct {
		Call string
		Args struct {
			By, Group   string
			Name        *string
			Description json.RawMessage
			ETag        string
			ID          int64
			CategoryID  int64 `json:"category_id"`
			PetID       int64 `json:"pet_id"`
			Quantity    int
			Overlap     string
			PageSize    int `json:"page_size"`
			After       int64
			Bookmark    string
			File        json.RawMessage
			Object      *struct {
				ID   int64
				ETag string
			}
			Method, Path string
			Query        map[string]string
			Body         any
		}
		Options struct {
			IdempotencyKey *string `json:"idempotency_key"`
			IfMatch        *string `json:"if_match"`
			MaxRetries     *int    `json:"max_retries"`
			Headers        map[string]string
		}
		Parallel     int
		Returns, Raw json.RawMessage
		Error        *failureWanted
	}
	failureWanted struct {
		Kind           string
		Status         *int
		Code           *petcat.Code
		Message        *string
		Field          *string
		Text           string    // a regular expression
		RequestID      *string   `json:"request_id"`
		RetryAfter     []float64 `json:"retry_after"`
		NotSent        *bool     `json:"not_sent"`
		OutcomeUnknown *bool     `json:"outcome_unknown"`
	}
)

// TestScenarios runs all scenarios.
func TestScenarios(t *testing.T) {
	t.Setenv("PETCAT_URL", "")
	t.Setenv("PETCAT_API_KEY", "")
	text, err := os.ReadFile("../clients/scenarios.json")
	must(t, err)
	var table struct {
		Scenarios  []scenario
		Operations map[string]struct {
			action
			Success json.RawMessage
		}
		Retries []struct {
			exchange
			Repeated, Only []string
			After          []float64
		}
	}
	must(t, json.Unmarshal(text, &table))
	all := table.Scenarios
	for _, row := range table.Retries {
		for name, operation := range table.Operations {
			if row.Only != nil && !slices.Contains(row.Only, name) {
				continue
			}
			s := scenario{Name: fmt.Sprint(row.Fault, row.Response.Status, " ", name)}
			s.Script, s.Calls = []exchange{row.exchange}, []action{operation.action}
			if slices.Contains(row.Repeated, name) {
				var second exchange
				second.Want.After = row.After
				must(t, json.Unmarshal(operation.Success, &second.Response))
				s.Script = append(s.Script, second)
			} else {
				s.Calls[0].Error = &failureWanted{}
			}
			all = append(all, s)
		}
	}
	for _, s := range all {
		t.Run(s.Name, func(t *testing.T) { synctest.Test(t, s.run) })
	}
	if len(all) < 200 {
		t.Errorf("there are only %d scenarios", len(all))
	}
}

func (s *scenario) run(t *testing.T) {
	var waits waitLog
	server := &script{t: t, scenario: s, begun: time.Now(), keys: map[string]string{}}
	h := &http.Client{Transport: server, Timeout: seconds(or(s.Client.Timeout, 30))}
	options := []petcat.Option{
		petcat.WithLogger(slog.New(&waits)),
		petcat.WithHTTPClient(h),
		petcat.WithRetries(or(s.Client.MaxRetries, 8)),
		petcat.WithMaxWait(seconds(or(s.Client.MaxWait, 120))),
	}
	if s.Client.AppName != "" {
		options = append(options, petcat.WithUserAgent(s.Client.AppName))
	}
	c, err := petcat.New(or(s.Client.BaseURL, "http://petcat.test"), or(s.Client.Key, validKey), options...)
	if s.Error != nil {
		s.Error.check(t, nil, err)
		return
	}
	must(t, err)
	for _, a := range s.Calls {
		var all sync.WaitGroup
		for range max(a.Parallel, 1) {
			all.Go(func() {
				value, res, err := a.do(t.Context(), c)
				switch {
				case a.Error != nil:
					a.Error.check(t, res, err)
				case err != nil:
					t.Errorf("%s: %v", a.Call, err)
				default:
					contains(t, a.Returns, value)
					contains(t, a.Raw, raw(res))
				}
			})
		}
		all.Wait()
	}
	if server.next != len(s.Script) {
		t.Errorf("%d requests, want %d", server.next, len(s.Script))
	}
	if s.Waits != nil {
		within := func(want []float64, got time.Duration) bool {
			return got >= seconds(want[0])-time.Millisecond && got <= seconds(want[1])
		}
		if !slices.EqualFunc(s.Waits, waits.reported, within) {
			t.Errorf("the waits are %v, want %v", waits.reported, s.Waits)
		}
	}
	if s.Limits != nil {
		wanted, _ := json.Marshal(s.Limits)
		contains(t, wanted, limitsOf(c.Limits()))
	}
}

// waitLog collects the waits that a client logs.
type waitLog struct {
	mu       sync.Mutex
	reported []time.Duration
}

func (w *waitLog) Enabled(context.Context, slog.Level) bool { return true }
func (w *waitLog) WithAttrs([]slog.Attr) slog.Handler       { return w }
func (w *waitLog) WithGroup(string) slog.Handler            { return w }

func (w *waitLog) Handle(_ context.Context, r slog.Record) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	r.Attrs(func(a slog.Attr) bool {
		if strings.HasPrefix(r.Message, "waiting") && a.Key == "wait" {
			w.reported = append(w.reported, a.Value.Duration())
		}
		return true
	})
	return nil
}

func or[T any](p *T, otherwise T) T {
	if p == nil {
		return otherwise
	}
	return *p
}

func seconds(n float64) time.Duration { return time.Duration(n * float64(time.Second)) }

// do makes the call, and returns its result as a JSON value.
func (a *action) do(ctx context.Context, c *petcat.Client) (any, *petcat.Response, error) {
	var options []petcat.Option
	if a.Options.IdempotencyKey != nil {
		options = append(options, petcat.WithIdempotencyKey(*a.Options.IdempotencyKey))
	}
	if a.Options.IfMatch != nil {
		options = append(options, petcat.WithIfMatch(*a.Options.IfMatch))
	}
	if a.Options.MaxRetries != nil {
		options = append(options, petcat.WithRetries(*a.Options.MaxRetries))
	}
	for name, value := range a.Options.Headers {
		options = append(options, petcat.WithHeader(name, value))
	}
	x := &a.Args
	if x.Object != nil {
		x.ID = x.Object.ID
		options = append(options, petcat.WithIfMatch(x.Object.ETag))
	}
	description := ""
	_ = json.Unmarshal(x.Description, &description) // null is none
	page := petcat.PageOptions{Limit: x.PageSize, After: x.After}
	switch a.Call {
	case "categories.create":
		v, res, err := c.Categories.Create(ctx, petcat.NewCategory{Name: *x.Name, Description: description}, options...)
		return created(v, v.ETag, res), res, err
	case "categories.get":
		v, res, err := c.Categories.Get(ctx, x.ID, options...)
		return created(v, v.ETag, res), res, err
	case "categories.update":
		change := petcat.CategoryChange{Name: x.Name}
		if x.Description != nil {
			change.Description = &description
		}
		v, res, err := c.Categories.Update(ctx, x.ID, change, options...)
		return created(v, v.ETag, res), res, err
	case "categories.delete":
		res, err := c.Categories.Delete(ctx, x.ID, options...)
		return nil, res, err
	case "categories.list":
		if x.Name != nil {
			v, res, err := c.Categories.Find(ctx, petcat.CategoryFilter{Name: *x.Name}, options...)
			return v, res, err
		}
		v, res, err := c.Categories.List(ctx, options...)
		return v, res, err
	case "categories.list_if_changed":
		v, res, err := c.Categories.ListIfChanged(ctx, x.ETag, options...)
		if err != nil {
			return nil, res, err
		}
		return map[string]any{"categories": v, "etag": res.ETag}, res, err
	case "categories.all":
		return collect(c.Categories.All(ctx, page, options...))
	case "categories.changes":
		changes := petcat.ChangeOptions{Bookmark: x.Bookmark, Limit: x.PageSize}
		return collect(c.Categories.Changes(ctx, changes, options...))
	case "categories.mirror":
		return mirror(ctx, c, x.File, options)
	case "pets.create":
		v, res, err := c.Pets.Create(ctx, petcat.NewPet{Name: *x.Name, CategoryID: x.CategoryID}, options...)
		return created(v, "", res), res, err
	case "pets.get":
		v, res, err := c.Pets.Get(ctx, x.ID, options...)
		return v, res, err
	case "pets.delete":
		res, err := c.Pets.Delete(ctx, x.ID, options...)
		return nil, res, err
	case "pets.all":
		return collect(c.Pets.All(ctx, petcat.PetOptions{CategoryID: x.CategoryID, PageOptions: page}, options...))
	case "orders.create":
		v, res, err := c.Orders.Create(ctx, petcat.NewOrder{PetID: x.PetID, Quantity: x.Quantity}, options...)
		return created(v, "", res), res, err
	case "orders.all":
		return collect(c.Orders.All(ctx, page, options...))
	case "request":
		query := url.Values{}
		for name, value := range x.Query {
			query.Set(name, value)
		}
		var out any
		if x.Method == http.MethodDelete {
			res, err := c.Do(ctx, x.Method, x.Path, nil, nil, options...)
			return nil, res, err
		}
		res, err := c.Do(ctx, x.Method, strings.TrimSuffix(x.Path+"?"+query.Encode(), "?"), x.Body, &out, options...)
		return out, res, err
	case "key.get":
		v, res, err := c.Key.Get(ctx, options...)
		return v, res, err
	case "key.rotate":
		overlap, _ := time.ParseDuration(x.Overlap) // 0: the default
		v, res, err := c.Key.Rotate(ctx, overlap, options...)
		return created(v, "", res), res, err
	case "key.revoke":
		res, err := c.Key.Revoke(ctx, options...)
		return nil, res, err
	case "usage_history":
		v, res, err := c.UsageHistory(ctx, petcat.UsageHistoryOptions{By: x.By, Group: x.Group}, options...)
		return v, res, err
	case "usage":
		v, res, err := c.Usage(ctx, options...)
		return v, res, err
	}
	return nil, nil, fmt.Errorf("no call is named %q", a.Call)
}

// mirror refreshes the mirror of a file.
func mirror(
	ctx context.Context, c *petcat.Client, file []byte, options []petcat.Option,
) (any, *petcat.Response, error) {
	m := c.Categories.NewMirror()
	if file != nil {
		if err := m.Load(bytes.NewReader(file)); err != nil {
			return nil, nil, err
		}
	}
	changed, err := m.Refresh(ctx, options...)
	if err != nil {
		return nil, nil, err
	}
	var saved bytes.Buffer
	err = m.Save(&saved)
	return map[string]any{"changed": changed, "file": json.RawMessage(saved.Bytes())}, nil, err
}

// created adds the members that results of the other clients have.
func created(v any, etag string, res *petcat.Response) any {
	object := plain(v).(map[string]any)
	object["etag"], object["replayed"] = etag, res != nil && res.Replayed
	return object
}

func collect[T any](all iter.Seq2[T, error]) (any, *petcat.Response, error) {
	list := []T{}
	for v, err := range all {
		if err != nil {
			return nil, nil, err
		}
		list = append(list, v)
	}
	return list, nil, nil
}

// raw returns a Response as a JSON value.
func raw(res *petcat.Response) any {
	if res == nil {
		return nil
	}
	headers := map[string]string{}
	for name := range res.Header {
		headers[strings.ToLower(name)] = res.Header.Get(name)
	}
	return map[string]any{
		"status":     res.Status,
		"request_id": res.RequestID,
		"headers":    headers,
		"limits":     limitsOf(res.Limits),
	}
}

func limitsOf(l petcat.Limits) any {
	windows := []map[string]any{}
	for _, w := range l.Windows {
		windows = append(windows, map[string]any{
			"name":      w.Name,
			"limit":     w.Limit,
			"length":    w.Length.Seconds(),
			"remaining": w.Remaining,
			"reset":     w.Reset.Unix(),
		})
	}
	return map[string]any{"limit": l.Limit, "remaining": l.Remaining, "reset": l.Reset.Unix(), "windows": windows}
}

// plain converts a value to a JSON value.
func plain(v any) (decoded any) {
	text, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(text, &decoded)
	}
	if err != nil {
		panic(err)
	}
	return decoded
}

// contains checks that a value has the expected members; it may have more.
func contains(t *testing.T, wanted json.RawMessage, got any) {
	t.Helper()
	if wanted == nil {
		return
	}
	if want, got := plain(wanted), plain(got); !covers(want, got) {
		t.Errorf("it is %v, want %v", got, want)
	}
}

func covers(want, got any) bool {
	switch want := want.(type) {
	case map[string]any:
		have, ok := got.(map[string]any)
		for name, value := range want {
			ok = ok && covers(value, have[name])
		}
		return ok
	case []any:
		have, ok := got.([]any)
		return ok && slices.EqualFunc(want, have, covers)
	default:
		return reflect.DeepEqual(want, got)
	}
}

// check compares an error with the expected one.
func (w *failureWanted) check(t *testing.T, res *petcat.Response, err error) {
	t.Helper()
	if err == nil {
		t.Error("there is no error")
		return
	}
	api, isAPI := errors.AsType[*petcat.Error](err)
	_, isConnection := errors.AsType[*petcat.ConnectionError](err)
	kind := "argument"
	if isAPI {
		kind = "api"
	} else if isConnection {
		kind = "connection"
	}
	if w.Kind != "" && kind != w.Kind || kind == "argument" && res != nil || strings.Contains(err.Error(), validKey) {
		t.Errorf("the error is %v, of the kind %s, want %s", err, kind, w.Kind)
	}
	got := or(api, petcat.Error{})
	wrong := w.Status != nil && got.Status != *w.Status || w.Code != nil && got.Code != *w.Code ||
		w.Message != nil && got.Message != *w.Message ||
		w.Field != nil && got.Field != *w.Field || !regexp.MustCompile(w.Text).MatchString(err.Error()) ||
		w.RequestID != nil && got.RequestID != *w.RequestID || w.NotSent != nil && got.NotSent != *w.NotSent ||
		w.OutcomeUnknown != nil && errors.Is(err, petcat.ErrOutcomeUnknown) != *w.OutcomeUnknown ||
		w.RetryAfter != nil && (got.RetryAfter < seconds(w.RetryAfter[0]) || got.RetryAfter > seconds(w.RetryAfter[1]))
	if wrong {
		t.Errorf("the error is %+v: %v", got, err)
	}
}

// script is a transport that checks the requests of a scenario and responds.
type script struct {
	t        *testing.T
	scenario *scenario
	begun    time.Time

	mu   sync.Mutex
	next int // guarded by mu, like all below
	last time.Time
	keys map[string]string // idempotency keys by letter
}

func (s *script) RoundTrip(r *http.Request) (*http.Response, error) {
	s.mu.Lock()
	n := s.next
	s.next++
	if n >= len(s.scenario.Script) {
		s.mu.Unlock()
		s.t.Errorf("request %d is unexpected: %s %s", n, r.Method, r.URL)
		return nil, errors.New("the script has ended")
	}
	x := &s.scenario.Script[n]
	if s.last.IsZero() {
		s.last = s.begun
	}
	since := time.Since(s.last)
	s.last = time.Now()
	s.check(n, x, r, since)
	s.mu.Unlock()

	trace := httptrace.ContextClientTrace(r.Context())
	trace.GetConn("")
	switch x.Fault {
	case "refused":
		return nil, errors.New("connection refused")
	case "untrusted":
		return nil, &tls.CertificateVerificationError{Err: errors.New("unknown authority")}
	case "no_tls":
		return nil, http.ErrSchemeMismatch
	}
	trace.GotConn(httptrace.GotConnInfo{})
	time.Sleep(seconds(s.scenario.Latency))
	res := &http.Response{StatusCode: x.Response.Status, Header: http.Header{}, Request: r}
	res.Body = io.NopCloser(strings.NewReader(x.Response.Text))
	switch x.Fault {
	case "lost":
		return nil, io.ErrUnexpectedEOF
	case "hang":
		<-r.Context().Done()
		return nil, r.Context().Err()
	case "cut":
		begun := io.MultiReader(strings.NewReader(`[{"id":`), brokenReader{})
		res.StatusCode, res.Body = http.StatusOK, io.NopCloser(begun)
	}
	if x.Response.Body != nil {
		res.Header.Set("Content-Type", "application/json")
		res.Body = io.NopCloser(bytes.NewReader(x.Response.Body))
	}
	for name, value := range x.Response.Headers {
		res.Header.Set(name, value)
	}
	return res, nil
}

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// check compares a request with the expected one. The caller holds mu.
func (s *script) check(n int, x *exchange, r *http.Request, since time.Duration) {
	t, w := s.t, &x.Want
	if w.Method != "" && r.Method != w.Method || w.URL != "" && !sameURL(w.URL, r.URL) {
		t.Errorf("request %d is %s %s, want %s %s", n, r.Method, r.URL, w.Method, w.URL)
	}
	const rounding = time.Millisecond
	if w.After != nil && (since < seconds(w.After[0])-rounding || since > seconds(w.After[1])+rounding) {
		t.Errorf("request %d came after %s, want %v seconds", n, since, w.After)
	}
	var body any
	text, _ := io.ReadAll(r.Body)
	if w.Body != nil && (json.Unmarshal(text, &body) != nil || !reflect.DeepEqual(body, w.Body)) {
		t.Errorf("the body of request %d is %s, want %v", n, text, w.Body)
	}
	key := r.Header.Get("Idempotency-Key")
	if w.Idempotency != "" {
		if known := s.keys[w.Idempotency]; known == "" && !slices.Contains(slices.Collect(maps.Values(s.keys)), key) {
			s.keys[w.Idempotency] = key
		}
		if s.keys[w.Idempotency] != key || len(key) < 16 {
			t.Errorf("the idempotency key of request %d is %q; before, they were %v", n, key, s.keys)
		}
	}
	for name, want := range w.Headers {
		got, pattern := r.Header.Get(name), false
		if want != nil {
			*want, pattern = strings.CutPrefix(*want, "~")
		}
		if pattern && !regexp.MustCompile(*want).MatchString(got) || !pattern && got != or(want, "") {
			t.Errorf("%s of request %d is %q, want %q", name, n, got, or(want, ""))
		}
	}
	if got := r.Header.Get("Authorization"); got != "Bearer "+validKey {
		t.Errorf("request %d has the Authorization %q", n, got)
	}
}

func sameURL(want string, got *url.URL) bool {
	w, err := url.Parse(want)
	same := err == nil && w.Scheme == got.Scheme && w.Host == got.Host && w.Path == got.Path
	return same && reflect.DeepEqual(w.Query(), got.Query())
}
