// Package pages is what the console and the customer's page share: the look, the scripts, what
// templates call, and the headers of every answer.
package pages

import (
	"bytes"
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"html/template"
	"io/fs"
	"maps"
	"net"
	"net/http"
	"net/url"
	"path"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"petcat"
	"petcat/internal/httpapi"
)

//go:embed assets shared
var embedded embed.FS

// Load parses every page in the folder pages, each with frame.html there and the parts that all
// pages share. base is the path that the pages are below.
func Load(folder fs.FS, base string) map[string]*template.Template {
	loaded := make(map[string]*template.Template)
	frame := template.Must(template.New("frame.html").Funcs(functions(base)).ParseFS(embedded, "shared/parts.html"))
	template.Must(frame.ParseFS(folder, "pages/frame.html"))
	names, err := fs.Glob(folder, "pages/*.html")
	if err != nil { // the files are part of the binary
		panic(err)
	}
	for _, name := range names {
		if page := strings.TrimSuffix(path.Base(name), ".html"); page != "frame" {
			loaded[page] = template.Must(template.Must(frame.Clone()).ParseFS(folder, name))
		}
	}
	return loaded
}

// Files returns what the pages refer to, by name. It needs no session: everybody can get the
// binary that it is in.
func Files() map[string]http.Handler {
	files := make(map[string]http.Handler)
	for _, pattern := range []string{"assets/*.js", "assets/*.css", "assets/*.txt", "shared/*.js", "shared/*.css", "shared/*.svg"} {
		for name, file := range httpapi.Files(embedded, pattern) {
			files[path.Base(name)] = file
		}
	}
	return files
}

// Secure sets the headers that every page has: only our own files and forms, nothing else.
func Secure(h http.Header) {
	h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "+
		"form-action 'self'; base-uri 'none'; frame-ancestors 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	// Other origins get no referrer. The stricter no-referrer would also remove the Origin from
	// our own forms, which could then not be distinguished from those of other sites.
	h.Set("Referrer-Policy", "same-origin")
}

// Write answers with a page, all of it or none.
func Write(w http.ResponseWriter, status int, page *template.Template, view any) error {
	var b bytes.Buffer
	if err := page.ExecuteTemplate(&b, "frame", view); err != nil {
		httpapi.WriteError(w, petcat.Errorf(petcat.CodeInternalError, "the page cannot be shown"))
		return err
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(b.Bytes()) // the client has gone
	return nil
}

// WriteJSON answers a script of a page.
func WriteJSON(w http.ResponseWriter, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusOK)
	_, _ = w.Write(text) // the client has gone
	return nil
}

// maxBars is how many periods a chart shows: more are lines that nobody can tell apart.
const maxBars = 2_000

// WriteUsage answers with what the chart of a usage history shows: times in Unix seconds,
// admitted and refused requests and failures. What the history leaves out is 0.
func WriteUsage(ctx context.Context, w http.ResponseWriter, q petcat.UsageQuery, read func(context.Context, petcat.UsageQuery) (petcat.UsageHistory, error)) error {
	q.From = q.Step.Floor(q.From)
	if first := q.Step.Floor(q.To.Add(-maxBars * q.Step.Length())); q.From.Before(first) {
		q.From = first
	}
	h, err := read(ctx, q)
	if err != nil {
		return err
	}
	columns := make([][]int64, 4)
	for at, periods := q.From, h.Periods; at.Before(q.To); at = at.Add(q.Step.Length()) {
		var p petcat.UsagePeriod
		if len(periods) > 0 && !periods[0].Begin.After(at) {
			p, periods = periods[0], periods[1:]
		}
		for i, n := range []int64{at.Unix(), p.Requests, p.Refused(), p.Failed} {
			columns[i] = append(columns[i], n)
		}
	}
	for i, column := range columns { // the last period goes on until the end
		if last := len(column) - 1; i > 0 {
			columns[i] = append(column, column[last])
		} else {
			columns[i] = append(column, q.To.Unix())
		}
	}
	return WriteJSON(w, map[string][][]int64{"usage": columns})
}

// Redirect leads the browser to another page.
func Redirect(w http.ResponseWriter, r *http.Request, to string) {
	w.Header().Set("Cache-Control", "no-store")
	if r.Header.Get("HX-Request") != "" { // htmx would follow a redirect itself, and show the answer in a part of the page
		w.Header().Set("HX-Redirect", to)
		w.WriteHeader(http.StatusNoContent)
		return
	}
	http.Redirect(w, r, to, http.StatusSeeOther)
}

// HostOf returns the host of an address that may have a port, in lower case.
func HostOf(address string) string {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		host = strings.Trim(address, "[]")
	}
	return strings.ToLower(host)
}

// Date reads a day of a form, from its beginning in UTC; the zero time for none. called is what
// its error calls it.
func Date(text, called string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	day, err := time.Parse(time.DateOnly, text)
	if err != nil || day.IsZero() { // the zero time means none
		return time.Time{}, petcat.Errorf(petcat.CodeInvalidField, "%s must look like 2027-01-31 (got %.50q)", called, text)
	}
	return day, nil
}

// Cookie returns a cookie that holds a session for a time; 0 removes it. A browser takes one
// whose name begins with __Host- by TLS only, for this host alone, and from no other host.
func Cookie(name, token string, secure bool, life time.Duration) *http.Cookie {
	age := int(life.Seconds())
	if age == 0 {
		age = -1
	}
	return &http.Cookie{ //nolint:gosec // without TLS only where the operator allows it
		Name: CookieName(name, secure), Value: token, Path: "/", MaxAge: age, Secure: secure, HttpOnly: true,
		// Not strict: a link to a page then works for whoever is signed in. Nothing that a link
		// can open changes anything.
		SameSite: http.SameSiteLaxMode,
	}
}

// CookieName returns the name of a cookie.
func CookieName(name string, secure bool) string {
	if secure {
		return "__Host-" + name
	}
	return name
}

// functions are what pages call.
func functions(base string) template.FuncMap {
	return template.FuncMap{
		"when": When, "second": second, "clock": func(t time.Time) string { return t.UTC().Format(time.TimeOnly) }, "base": func() string { return base },
		"number": humanize.Comma, "size": func(n int64) string { return humanize.Bytes(uint64(max(n, 0))) },
		"instant": func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
		"plans":   petcat.Plans,
		"title":   func(s any) string { return Capitalised(fmt.Sprint(s)) },
		"query":   query, "quota": planQuota, "detail": detail,
		"list": func(all ...any) []any { return all },
		"name": func(n petcat.OperatorName) string { return string(n) },
	}
}

// When is how pages show a moment, in UTC.
func When(t time.Time) string {
	if t.IsZero() {
		return "–"
	}
	return t.UTC().Format("2 Jan 2006, 15:04")
}

// second is [When] with seconds.
func second(t time.Time) string { return t.UTC().Format("2 Jan 2006, 15:04:05") }

// Capitalised returns a text with a capital letter at its beginning.
func Capitalised(s string) string {
	if s == "" {
		return ""
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// Sentence returns a message as a sentence.
func Sentence(message string) string {
	if message == "" {
		return ""
	}
	return Capitalised(message) + "."
}

// planQuota describes what a plan allows.
func planQuota(p petcat.Plan) string {
	q, published := p.Quota()
	if !published {
		return "numbers as agreed"
	}
	return humanize.Comma(q.PerMinute) + " a minute, " + humanize.Comma(q.PerDay) + " a day"
}

// detail returns the detail of an audit entry for people, without members that are not set.
func detail(text string) string {
	var members map[string]any
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&members); err != nil {
		return text
	}
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(members)) {
		called, value := strings.ReplaceAll(name, "_", " "), fmt.Sprint(members[name])
		at, err := time.Parse(time.RFC3339, value)
		switch {
		case value == "" || value == "false" || value == "<nil>": // says nothing
		case value == "true":
			parts = append(parts, called)
		case err == nil:
			parts = append(parts, called+": "+second(at))
		default:
			parts = append(parts, called+": "+value)
		}
	}
	return strings.Join(parts, " · ")
}

// query returns a query of names and values, without those that are empty.
func query(pairs ...any) template.URL {
	values := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		if value := pairs[i+1]; !reflect.ValueOf(value).IsZero() {
			values.Set(fmt.Sprint(pairs[i]), fmt.Sprint(value))
		}
	}
	return template.URL("?" + values.Encode()) //nolint:gosec // it is escaped
}
