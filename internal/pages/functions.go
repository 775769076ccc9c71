package pages

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"html/template"
	"maps"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/petcat-api/petcat"
)

// functions are the functions of all templates.
func functions(base string) template.FuncMap {
	return template.FuncMap{
		"base":    func() string { return base },
		"clock":   func(t time.Time) string { return t.UTC().Format(time.TimeOnly) },
		"detail":  detail,
		"instant": func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
		"list":    func(all ...any) []any { return all },
		"name":    func(n petcat.OperatorName) string { return string(n) },
		"number":  humanize.Comma,
		"once":    rand.Text, // identifies the change of one form; see [Exchange.Author]
		"plans":   petcat.Plans,
		"query":   query,
		"quota":   planQuota,
		"second":  second,
		"size":    func(n int64) string { return humanize.Bytes(uint64(max(n, 0))) },
		// For limits that are powers of two.
		"binarySize": func(n int64) string { return humanize.IBytes(uint64(max(n, 0))) },
		"title":      func(s any) string { return capitalised(fmt.Sprint(s)) },
		"when":       when,
	}
}

// when formats a time for pages, in UTC.
func when(t time.Time) string {
	if t.IsZero() {
		return "–"
	}
	return t.UTC().Format("2 Jan 2006, 15:04")
}

// second is [when] with seconds.
func second(t time.Time) string { return t.UTC().Format("2 Jan 2006, 15:04:05") }

// capitalised returns a text with a capital letter at its beginning.
func capitalised(s string) string {
	first := min(1, len(s))
	return strings.ToUpper(s[:first]) + s[first:]
}

// Isolate keeps the direction of a client's text from changing the text next to it.
func Isolate(text string) string {
	const begin, end = "\u2068", "\u2069"
	return begin + strings.ReplaceAll(text, end, "") + end
}

// Sentence returns a message as a sentence.
func Sentence(message string) string { return capitalised(message) + "." }

// planQuota describes the quotas of a plan.
func planQuota(p petcat.Plan) string {
	q, published := p.Quota()
	if !published {
		return "custom limits"
	}
	return humanize.Comma(q.PerMinute) + "/min, " + humanize.Comma(q.PerDay) + "/day"
}

// part is a member of the detail of an audit entry. Each is a separate element on the page, so that a
// customer's text cannot look like further members.
type part struct{ Name, Value string }

// detail returns the members of an audit entry's detail that are set.
func detail(text string) (parts []part) {
	var members map[string]any
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&members); err != nil {
		return []part{{Value: text}}
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		called, value := strings.ReplaceAll(name, "_", " "), fmt.Sprint(members[name])
		at, err := time.Parse(time.RFC3339, value)
		switch {
		case value == "" || value == "false" || value == "<nil>":
		case value == "true":
			parts = append(parts, part{Name: called})
		case err == nil:
			parts = append(parts, part{called, second(at)})
		default:
			parts = append(parts, part{called, value})
		}
	}
	return parts
}

// query returns a query of names and values, without empty ones.
func query(pairs ...any) template.URL {
	values := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		if value := pairs[i+1]; !reflect.ValueOf(value).IsZero() {
			values.Set(fmt.Sprint(pairs[i]), fmt.Sprint(value))
		}
	}
	return template.URL("?" + values.Encode()) //nolint:gosec // it is escaped
}
