package api_test

import (
	"fmt"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"

	"petcat"
)

// storyTime is when the examples of the headers were taken; the comment above
// them in the document says so.
var storyTime = time.Date(2026, 1, 15, 14, 33, 18, 0, time.UTC)

// TestHeaderExamplesTellOneStory does the arithmetic of the examples again.
func TestHeaderExamplesTellOneStory(t *testing.T) {
	headers := load(t).Components.Headers
	free, _ := petcat.Free.Quota()
	now := storyTime.Unix()
	minuteEnd := petcat.Minute.Reset(petcat.Minute.Index(now))
	dayEnd := petcat.Day.Reset(petcat.Day.Index(now))
	account := fmt.Sprintf(`"minute";q=%d;w=60, "day";q=%d;w=86400`, free.PerMinute, free.PerDay)
	const address = `"address";q=600;w=60`
	both := func(minute, day int64) string {
		return fmt.Sprintf(`"minute";r=%d;t=%d, "day";r=%d;t=%d`, minute, minuteEnd-now, day, dayEnd-now)
	}
	failed := func(left int64) string { return fmt.Sprintf(`"address";r=%d;t=%d`, left, minuteEnd-now) }

	for _, c := range []struct {
		story                   string
		limit, remaining, reset int64
		rateLimit, policy       string
		retryAfter              [2]int64 // from, to; zero: no such header
	}{
		{"admitted", free.PerMinute, 59, minuteEnd, both(59, 999), account, [2]int64{}},
		{"minuteSpent", free.PerMinute, 0, minuteEnd, both(0, 940), account, [2]int64{42, 42}},
		{"daySpent", free.PerDay, 0, dayEnd, both(60, 0), account, [2]int64{dayEnd - now, dayEnd - now + 60}},
		{"banned", free.PerMinute, 0, now + 60, both(0, 940), account, [2]int64{60, 60}},
		{"missingKey", 600, 600, minuteEnd, failed(600), address, [2]int64{}},
		{"invalidKey", 600, 599, minuteEnd, failed(599), address, [2]int64{}},
		{"failedSpent", 600, 0, minuteEnd, failed(0), address, [2]int64{42, 42}},
	} {
		t.Run(c.story, func(t *testing.T) {
			want := func(header, value string) {
				t.Helper()
				if got := example(t, headers, header, c.story); got != value {
					t.Errorf("%s is %s, want %s", header, got, value)
				}
			}
			want("X-RateLimit-Limit", strconv.FormatInt(c.limit, 10))
			want("X-RateLimit-Remaining", strconv.FormatInt(c.remaining, 10))
			want("X-RateLimit-Reset", strconv.FormatInt(c.reset, 10))
			want("RateLimit", c.rateLimit)
			want("RateLimit-Policy", c.policy)
			if c.retryAfter != [2]int64{} {
				got, err := strconv.ParseInt(example(t, headers, "Retry-After", c.story), 10, 64)
				if err != nil || got < c.retryAfter[0] || got > c.retryAfter[1] {
					t.Errorf("Retry-After is %d, want %d to %d", got, c.retryAfter[0], c.retryAfter[1])
				}
			}
		})
	}
}

// example returns a header's example of a story, as text.
func example(t *testing.T, headers openapi3.Headers, header, story string) string {
	t.Helper()
	e := headers[header].Value.Examples[story]
	if e == nil {
		t.Fatalf("%s has no example %s", header, story)
	}
	if n, ok := e.Value.Value.(float64); ok {
		return strconv.FormatInt(int64(n), 10)
	}
	return fmt.Sprint(e.Value.Value)
}

// TestMessagesFitTheHeaders compares the numbers that the 429 bodies name with
// those of the headers.
func TestMessagesFitTheHeaders(t *testing.T) {
	doc := load(t)
	number := regexp.MustCompile(` in (\d+) seconds`)
	moment := regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`)
	for story, e := range doc.Components.Responses["TooManyRequests"].Value.Content["application/json"].Examples {
		message := e.Value.Value.(map[string]any)["message"].(string)
		seconds, at := number.FindStringSubmatch(message), moment.FindString(message)
		switch {
		case seconds != nil:
			if want := example(t, doc.Components.Headers, "Retry-After", story); seconds[1] != want {
				t.Errorf("%s: the message says %s s, Retry-After %s", story, seconds[1], want)
			}
		case at != "":
			end, err := time.Parse(time.RFC3339, at)
			want := example(t, doc.Components.Headers, "X-RateLimit-Reset", story)
			if err != nil || strconv.FormatInt(end.Unix(), 10) != want {
				t.Errorf("%s: the message says %s, X-RateLimit-Reset %s", story, at, want)
			}
		default:
			t.Errorf("%s: the message names neither seconds nor a moment", story)
		}
	}
}
