package console

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"html/template"
	"io/fs"
	"maps"
	"net/http"
	"net/url"
	"path"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"petcat"
	"petcat/internal/httpapi"
)

//go:embed assets pages
var embedded embed.FS

// view is what a page shows.
type view struct {
	Title   string // of the page
	Section string // of the navigation
	Data    any

	// The rest is filled in for every page.
	Operator        petcat.OperatorName // "" if nobody is signed in
	Admin           bool
	Environment     petcat.Environment
	Version         string
	Form            url.Values
	Notice, Problem string
	Now             time.Time
}

// loadPages parses every page, each with the frame and the parts that pages share.
func loadPages() map[string]*template.Template {
	pages := make(map[string]*template.Template)
	frame := template.Must(template.New("frame.html").Funcs(functions()).ParseFS(embedded, "pages/frame.html", "pages/parts.html"))
	names, err := fs.Glob(embedded, "pages/*.html")
	if err != nil { // the files are part of the binary
		panic(err)
	}
	for _, name := range names {
		switch page := strings.TrimSuffix(path.Base(name), ".html"); page {
		case "frame", "parts":
		default:
			pages[page] = template.Must(template.Must(frame.Clone()).ParseFS(embedded, name))
		}
	}
	return pages
}

// render answers with a page.
func (x *exchange) render(page string, v view) error { return x.renderAs(http.StatusOK, page, v) }

// renderAs is render with a status, which a problem makes 400 if it is 200.
func (x *exchange) renderAs(status int, page string, v view) error {
	if status == http.StatusOK && x.problem != "" {
		status = http.StatusBadRequest
	}
	x.respond(status, page, v)
	return nil
}

// respond writes a page, all of it or none.
func (x *exchange) respond(status int, page string, v view) {
	v.Operator, v.Admin = x.session.Operator, x.session.Role.Changes()
	v.Environment, v.Version, v.Form, v.Now = x.Environment, x.Version, x.r.Form, x.now()
	v.Notice, v.Problem = x.notice, x.problem
	var b bytes.Buffer
	if err := x.pages[page].ExecuteTemplate(&b, "frame", v); err != nil {
		x.Logger.ErrorContext(x.r.Context(), "a page of the console cannot be rendered", "page", page, "error", err)
		httpapi.WriteError(x.w, petcat.Errorf(petcat.CodeInternalError, "the page cannot be shown"))
		return
	}
	h := x.w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	x.w.WriteHeader(status)
	_, _ = x.w.Write(b.Bytes()) // the client has gone
}

// functions are what pages call.
func functions() template.FuncMap {
	return template.FuncMap{
		"when": when, "second": func(t time.Time) string { return t.UTC().Format("2 Jan 2006, 15:04:05") }, "number": humanize.Comma, "size": func(n int64) string { return humanize.Bytes(uint64(max(n, 0))) }, "ago": ago, "base": func() string { return base },
		"instant": func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
		"plans":   petcat.Plans,
		"title":   func(s any) string { return capitalised(fmt.Sprint(s)) },
		"query":   query, "quota": planQuota, "detail": detail,
		"list": func(all ...any) []any { return all },
		"name": func(n petcat.OperatorName) string { return string(n) },
	}
}

// when is how pages show a moment, in UTC.
func when(t time.Time) string {
	if t.IsZero() {
		return "–"
	}
	return t.UTC().Format("2 Jan 2006, 15:04")
}

// ago is how pages show how long ago, or in how long, something is.
func ago(d time.Duration) string {
	d = d.Abs()
	switch {
	case d < time.Minute:
		return strconv.Itoa(int(d.Seconds())) + " s"
	case d < time.Hour:
		return strconv.Itoa(int(d.Minutes())) + " min"
	case d < 48*time.Hour:
		return strconv.Itoa(int(d.Hours())) + " h"
	default:
		return strconv.Itoa(int(d.Hours()/24)) + " days"
	}
}

func capitalised(s string) string {
	if s == "" {
		return ""
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// planQuota describes what a plan allows.
func planQuota(p petcat.Plan) string {
	q, published := p.Quota()
	if !published {
		return "numbers as agreed"
	}
	return humanize.Comma(q.PerMinute) + " a minute, " + humanize.Comma(q.PerDay) + " a day"
}

// detail returns the detail of an audit entry for people.
func detail(text string) string {
	var members map[string]any
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&members); err != nil {
		return text
	}
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(members)) {
		parts = append(parts, fmt.Sprintf("%s %v", strings.ReplaceAll(name, "_", " "), members[name]))
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

// serveFiles serves what the pages refer to, without a session: it is in the binary that
// everybody can get.
func (c *Console) serveFiles() {
	for _, pattern := range []string{"assets/*.js", "assets/*.css", "assets/*.txt", "pages/*.js", "pages/*.css", "pages/*.svg"} {
		for name, file := range httpapi.Files(embedded, pattern) {
			c.mux.Handle("GET "+base+"files/"+path.Base(name), file)
		}
	}
}
