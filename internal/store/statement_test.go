package store_test

import (
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/petcat-api/petcat/internal/storetest"
)

// TestPlaceholders: both drivers take arguments by the numbers of the placeholders, so a statement has
// $1 to $n and no question mark.
func TestPlaceholders(t *testing.T) {
	placeholder := regexp.MustCompile(`\$([0-9]+)`)
	for _, s := range storetest.Statements(t) {
		seen := make(map[int]bool)
		highest := 0
		for _, m := range placeholder.FindAllStringSubmatch(s.Text, -1) {
			number, _ := strconv.Atoi(m[1])
			seen[number] = true
			highest = max(highest, number)
		}
		if len(seen) != highest || seen[0] || strings.Contains(s.Text, "?") {
			t.Errorf("%s has the placeholders %v: %s", s.At, seen, s.Text)
		}
	}
}
