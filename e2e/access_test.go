package e2e

import (
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	rules "petcat"
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

// TestAccess: running nodes apply the changes of commands.
func TestAccess(t *testing.T) {
	t.Parallel()
	onNodes(t, nil, func(t *testing.T, place string, nodes []*node) {
		k := newKey(t, place, "acme", unlimited...)
		awaitCode(t, nodes, k, "")
		petcat(t, place, "key", "disable", k.ID)
		awaitCode(t, nodes, k, rules.CodeDisabledAPIKey)
		petcat(t, place, "key", "enable", k.ID)
		awaitCode(t, nodes, k, "")

		for _, n := range nodes { // the count stays, unless the day ends
			n.list(k.Key).want(t, http.StatusOK)
		}
		_, before := nodes[0].windows(k.Key)
		petcat(t, place, append([]string{"account", "set-plan", "acme", "--plan"}, limited("500000", "1000000000")...)...)
		for _, n := range nodes {
			eventually(t, "the account has the new quota", func() bool { return n.list(k.Key).number(t, "X-RateLimit-Limit") == 500000 })
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
	Key    string
	State  string
	EndsAt time.Time `json:"ends_at"`
}

// TestBans: a key that does not wait is banned on all nodes, also after restarts, until the ban ends or
// is lifted. On a slow machine, a ban may end during the test, which is no error.
func TestBans(t *testing.T) {
	t.Parallel()
	onNodes(t, nil, func(t *testing.T, place string, nodes []*node) {
		k := newKey(t, place, "impatient", limited("1", "1")...)
		nodes[0].knows(k)
		var banned atomic.Bool
		atOnce(4, func(int) {
			eventually(t, "the key is banned", func() bool {
				for range 10 {
					if banned.Load() || nodes[0].list(k.Key).code() == rules.CodeKeyBanned {
						banned.Store(true)
						return true
					}
				}
				return false
			})
		})
		var listed []ban
		eventually(t, "the ban is listed", func() bool {
			listed = petcatJSON[[]ban](t, place, "ban", "list", "--all")
			return len(listed) == 1
		})
		end := listed[0].EndsAt
		if listed[0].Key != k.ID {
			t.Errorf("the banned key is %s, want %s", listed[0].Key, k.ID)
		}
		isBanned := func(n *node) bool { return n.list(k.Key).code() == rules.CodeKeyBanned || time.Now().After(end) }
		for _, n := range nodes {
			eventually(t, "the node knows the ban", func() bool { return isBanned(n) })
		}
		nodes[0].stop()
		nodes[0] = serve(t, place)
		if !isBanned(nodes[0]) {
			t.Error("a restart ended the ban")
		}
		nodes[0].kill()
		nodes[0] = serve(t, place)
		if !isBanned(nodes[0]) {
			t.Error("a kill ended the ban")
		}
		if o := run(t, placed(place, "ban", "lift", k.ID)...); o.code != exitDone && time.Now().Before(end) {
			t.Errorf("ban lift exited with %d: %s", o.code, o.stderr)
		}
		for _, n := range nodes {
			eventually(t, "the node knows that the ban was lifted", func() bool { return n.list(k.Key).code() != rules.CodeKeyBanned })
		}
	})
}

// TestBansInShadow: shadow bans are counted, but not enforced.
func TestBansInShadow(t *testing.T) {
	t.Parallel()
	place := directory(t)
	k := newKey(t, place, "impatient", limited("1", "1")...)
	n := serve(t, place, "--bans", "shadow")
	eventually(t, "a ban is counted", func() bool {
		for range 20 {
			if code := n.list(k.Key).code(); code == rules.CodeKeyBanned {
				t.Fatalf("got %s", code)
			}
		}
		return n.metric(`petcat_bans_total{mode="shadow"}`) > 0
	})
}
