package api_test

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"petcat"
)

const daySeconds = 86_400

// TestGuidesCalculateWithThePlans does the arithmetic of docs/limits.md and
// docs/import.md again.
func TestGuidesCalculateWithThePlans(t *testing.T) {
	limits, imports := string(readFile(t, "../docs/limits.md")), string(readFile(t, "../docs/import.md"))
	for _, p := range petcat.Plans() {
		q, ok := p.Quota()
		if !ok {
			continue // agreed per account
		}
		name, _, _ := strings.Cut(strings.TrimPrefix(planRow(p, q), "| "), " ")
		interval := regexp.MustCompile(`(?m)^\| ` + name + ` \| every .* \| ([\d.]+) s \|`).FindStringSubmatch(limits)
		if interval == nil {
			t.Fatalf("docs/limits.md tells %s no interval", name)
		}
		seconds, err := strconv.ParseFloat(interval[1], 64)
		if err != nil {
			t.Fatal(err)
		}
		requests := int64(daySeconds/seconds + 0.5)
		for _, row := range []struct{ text, want string }{
			{limits, planRow(p, q)},
			{limits, fmt.Sprintf("| %s | every %g s | %g s | %s | %s |", name, daySeconds/float64(q.PerDay), seconds, grouped(requests), grouped(q.PerDay-requests))},
			{imports, fmt.Sprintf("| %s | %s | %s |", name, timeFor(1000, q), timeFor(10_000, q))},
		} {
			if !strings.Contains(row.text, "\n"+row.want+"\n") {
				t.Errorf("a guide lacks the row\n%s", row.want)
			}
		}
	}
}

// timeFor says how long so many requests take.
func timeFor(requests int64, q petcat.Quota) string {
	n, unit := (requests+q.PerMinute-1)/q.PerMinute, "minute"
	if requests > q.PerDay {
		n, unit = (requests+q.PerDay-1)/q.PerDay, "day"
	}
	if n > 1 {
		unit += "s"
	}
	return fmt.Sprintf("%d %s", n, unit)
}
