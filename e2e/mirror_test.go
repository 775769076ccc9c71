package e2e

import (
	"cmp"
	"encoding/json"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	diff "github.com/google/go-cmp/cmp"

	rules "github.com/petcat-api/petcat"
)

// mirrorFile is the file of petcat category mirror.
type mirrorFile struct {
	Bookmark   string
	Categories []category
}

// mirror runs petcat category mirror, and checks that the file has the list.
func (n *node) mirror(k key, file string, changed bool) (m mirrorFile) {
	n.t.Helper()
	var done struct{ Changed bool }
	must(n.t, json.Unmarshal([]byte(n.runCategory(k, exitDone, "mirror", file, "--json").stdout), &done))
	text, err := os.ReadFile(file)
	must(n.t, err)
	must(n.t, json.Unmarshal(text, &m))
	if d := diff.Diff(n.fresh(k.Key), m.Categories); d != "" || done.Changed != changed {
		n.t.Errorf("changed: %t, want %t; the mirror (-list +mirror):\n%s", done.Changed, changed, d)
	}
	return m
}

// TestMirror: a mirror follows changes and deletions on any node. After a restore, its bookmark has
// expired, and it begins again.
func TestMirror(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(t *testing.T, place string) {
		k := newKey(t, place, "acme", unlimited...)
		nodes := []*node{serve(t, place)}
		if strings.Contains(place, "://") {
			nodes = append(nodes, serve(t, place))
		}
		n, other := nodes[0], nodes[len(nodes)-1]
		file := filepath.Join(t.TempDir(), "mirror.json")
		for _, name := range []string{"dog", "cat", "fish"} {
			n.create(k.Key, name).want(t, http.StatusCreated)
		}
		n.mirror(k, file, true)
		n.do(http.MethodPatch, "/v1/categories/2", `{"name":"kitten"}`, by(k.Key)).want(t, http.StatusOK)
		n.do(http.MethodDelete, "/v1/categories/3", "", by(k.Key)).want(t, http.StatusNoContent)
		other.create(k.Key, "bird").want(t, http.StatusCreated)
		other.mirror(k, file, true)
		before := n.mirror(k, file, false)
		for _, n := range nodes {
			n.stop()
		}

		backup, to := filepath.Join(t.TempDir(), "backup"), otherKind(t, place)
		petcat(t, place, "backup", backup, "--quiet")
		petcat(t, to, "restore", backup)
		n = serve(t, to)
		n.do(http.MethodGet, "/v1/categories/changes?after="+before.Bookmark, "", by(k.Key)).
			wantError(t, http.StatusGone, rules.CodeCursorExpired)
		n.mirror(k, file, false)
		n.create(k.Key, "owl").want(t, http.StatusCreated)
		n.mirror(k, file, true)
		n.stop()
	})
}

// follower is a copy of all categories that follows the changes.
type follower struct {
	next     string // path and query of the next request
	all      map[int64]category
	restarts int // how often the cursor had expired
}

const firstChanges = "/v1/categories/changes?limit=1000"

func newFollower() *follower {
	return &follower{next: firstChanges, all: make(map[int64]category)}
}

// apply applies a response, and returns whether there may be more changes.
func (f *follower) apply(t testing.TB, a *response) (more bool) {
	t.Helper()
	if a.StatusCode == http.StatusGone {
		*f = follower{next: firstChanges, all: make(map[int64]category), restarts: f.restarts + 1}
		return true
	}
	var changes []struct {
		ID       int64
		Category *category
	}
	a.want(t, http.StatusOK).decode(t, &changes)
	for _, c := range changes {
		if c.Category == nil {
			delete(f.all, c.ID)
		} else {
			f.all[c.ID] = *c.Category
		}
	}
	next, found := strings.CutSuffix(strings.TrimPrefix(a.Header.Get("Link"), "<"), `>; rel="next"`)
	if !found {
		t.Fatalf("Link: %q", a.Header.Get("Link"))
	}
	f.next = next
	return len(changes) == 1000
}

// wantList reads the rest of the changes from a node without writers, and compares the copy with the list.
func (f *follower) wantList(t testing.TB, n *node, k key) {
	t.Helper()
	want := n.fresh(k.Key)
	for f.apply(t, n.do(http.MethodGet, f.next, "", by(k.Key))) {
	}
	byID := func(a, b category) int { return cmp.Compare(a.ID, b.ID) }
	got := slices.SortedFunc(maps.Values(f.all), byID)
	if !slices.Equal(want, got) {
		t.Errorf("a copy that follows the changes has %d categories, the list %d: %s", len(got), len(want), diff.Diff(want, got))
	}
}
