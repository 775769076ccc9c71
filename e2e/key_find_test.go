package e2e

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestLastUseOfKeys: whoever finds a leaked key wants to know whether it is used, and
// when it was. Whatever shows keys says the same.
func TestLastUseOfKeys(t *testing.T) {
	s := serve(t, filepath.Join(t.TempDir(), "data"))
	openAccount(t, s.data, "acme", "free")
	id, key := issueKey(t, s.data, "acme")
	issueKey(t, s.data, "acme") // never used
	type foundKey struct {
		ID         string     `json:"id"`
		LastUsedAt *time.Time `json:"last_used_at"`
	}
	find := func() (found []foundKey) {
		t.Helper()
		var out, errs strings.Builder
		if code := execute(t, []string{"key", "find", "--json", "--data", s.data}, nil, strings.NewReader("in a page: "+key+"\n"), &out, &errs); code != exitDone {
			t.Fatalf("exit code %d: %s", code, errs.String())
		}
		must(t, json.Unmarshal([]byte(out.String()), &found))
		if len(found) != 1 || found[0].ID != id {
			t.Fatalf("found %+v; want %s", found, id)
		}
		return found
	}
	if found := find(); found[0].LastUsedAt != nil {
		t.Errorf("nobody used it, and it was used at %s", found[0].LastUsedAt)
	}
	var used time.Time
	s.control().InTime("the last use is known", usageAge, func() time.Duration {
		used = time.Now().Truncate(time.Second)
		s.list(key)
		return unseen(t, 10*time.Second, "the last use is known", func() bool {
			at := find()[0].LastUsedAt
			return at != nil && !at.Before(used)
		})
	})
	if at := find()[0].LastUsedAt; at.Before(used) || at.After(time.Now()) {
		t.Errorf("it was used at %s, and said to be at %s", used, at)
	}
	want := append(find(), foundKey{ID: "key_2"})
	var listed []foundKey
	must(t, json.Unmarshal([]byte(petcatDoes(t, s.data, "key", "list", "--json")), &listed))
	var shown struct{ Keys []foundKey }
	must(t, json.Unmarshal([]byte(petcatDoes(t, s.data, "account", "show", "acme", "--json")), &shown))
	for command, got := range map[string][]foundKey{"key list": listed, "account show": shown.Keys} {
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("key find and %s say when each key was last used (-find +%[1]s):\n%s", command, diff)
		}
	}
}
