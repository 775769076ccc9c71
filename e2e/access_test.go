package e2e

import (
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	rules "github.com/petcat-api/petcat"
)

// onNodes runs a test on one node with SQLite, and on two with PostgreSQL.
func onNodes(t *testing.T, flags []string, test func(t *testing.T, place string, nodes []*node)) {
	t.Helper()
	onBothDatabases(t, func(t *testing.T, place string) {
		count := 1
		if place[0] != '/' {
			count = 2
		}
		test(t, place, serveAll(t, count, place, flags...))
	})
}

// awaitCode waits until all nodes respond to a key with a code, "" for success.
func awaitCode(t *testing.T, nodes []*node, k key, code rules.Code) {
	t.Helper()
	for _, n := range nodes {
		eventually(t, fmt.Sprintf("%s gets %q", k.ID, code), func() bool { return n.list(k.Key).code() == code })
	}
}

// TestAccess: running nodes apply changes by commands.
func TestAccess(t *testing.T) {
	t.Parallel()
	onNodes(t, nil, func(t *testing.T, place string, nodes []*node) {
		k := newKey(t, place, "acme", unlimited...)
		awaitCode(t, nodes, k, "")
		petcat(t, place, "key", "disable", k.ID)
		awaitCode(t, nodes, k, rules.CodeDisabledAPIKey)
		petcat(t, place, "key", "enable", k.ID)
		awaitCode(t, nodes, k, "")

		for _, n := range nodes { // the count stays, unless the day changes
			n.list(k.Key).want(t, http.StatusOK)
		}
		_, before := nodes[0].windows(k.Key)
		change := append([]string{"account", "set-plan", "acme", "--plan"}, limited("500000", "1000000000")...)
		petcat(t, place, change...)
		for _, n := range nodes {
			eventually(t, "the account has the new quota", func() bool {
				return n.list(k.Key).number(t, "X-RateLimit-Limit") == 500000
			})
			if _, day := n.windows(k.Key); day.Reset == before.Reset && day.Used < before.Used {
				t.Errorf("%d requests of the day, then %d", before.Used, day.Used)
			}
		}

		overlaps := petcatJSON[key](t, place, "key", "rotate", k.ID, "--overlap", "1h")
		awaitCode(t, nodes, overlaps, "")
		awaitCode(t, nodes, k, "")
		next := petcatJSON[key](t, place, "key", "rotate", overlaps.ID, "--overlap", "0")
		awaitCode(t, nodes, next, "")
		awaitCode(t, nodes, overlaps, rules.CodeExpiredAPIKey)
		petcat(t, place, "key", "revoke", next.ID, "--yes")
		awaitCode(t, nodes, next, rules.CodeRevokedAPIKey)

		reads := petcatJSON[key](t, place, "key", "create", "acme", "--read-only")
		awaitCode(t, nodes, reads, "")
		nodes[0].create(reads.Key, "dog").wantError(t, http.StatusForbidden, rules.CodeForbidden)
		petcat(t, place, "account", "close", "acme", "--yes")
		awaitCode(t, nodes, reads, rules.CodeRevokedAPIKey)
	})
}

// ban is a ban in the output of ban list.
type ban struct {
	Key       string
	StartedAt time.Time `json:"started_at"`
	EndsAt    time.Time `json:"ends_at"`
}

// provoke sends requests of a key without waiting, until it is banned, and returns the ban.
func provoke(t *testing.T, place string, n *node, k key) ban {
	t.Helper()
	var banned atomic.Bool
	atOnce(4, func(int) {
		eventually(t, "the key is banned", func() bool {
			for range 10 {
				if banned.Load() || n.list(k.Key).code() == rules.CodeKeyBanned {
					banned.Store(true)
					return true
				}
			}
			return false
		})
	})
	var listed []ban
	eventually(t, "the ban is listed", func() bool {
		listed = petcatJSON[[]ban](t, place, "ban", "list")
		return len(listed) == 1
	})
	if listed[0].Key != k.ID {
		t.Errorf("the banned key is %s, want %s", listed[0].Key, k.ID)
	}
	return listed[0]
}

// TestBans: a key that does not wait is banned on all nodes, also after restarts, until the ban is
// lifted.
func TestBans(t *testing.T) {
	t.Parallel()
	onNodes(t, nil, func(t *testing.T, place string, nodes []*node) {
		k := newKey(t, place, "impatient", limited("1", "1")...)
		nodes[0].knows(k)
		awaitLifted := func() {
			t.Helper()
			for _, n := range nodes {
				eventually(t, "the node knows that the ban was lifted", func() bool {
					return n.list(k.Key).code() != rules.CodeKeyBanned
				})
			}
		}
		// The first ban lasts for a minute, and may end during the test. The second one lasts longer.
		provoke(t, place, nodes[0], k)
		_ = run(t, placed(place, "ban", "lift", k.ID)...) // unless it has expired
		awaitLifted()
		second := provoke(t, place, nodes[0], k)
		if got, want := second.EndsAt.Sub(second.StartedAt), rules.BanDuration(2); got < want { // a full second
			t.Fatalf("the second ban lasts for %s, want at least %s", got, want)
		}
		awaitCode(t, nodes, k, rules.CodeKeyBanned)
		nodes[0].stop()
		nodes[0] = serve(t, place)
		nodes[0].list(k.Key).wantError(t, http.StatusTooManyRequests, rules.CodeKeyBanned)
		nodes[0].kill()
		nodes[0] = serve(t, place)
		nodes[0].list(k.Key).wantError(t, http.StatusTooManyRequests, rules.CodeKeyBanned)
		petcat(t, place, "ban", "lift", k.ID)
		awaitLifted()
	})
}
