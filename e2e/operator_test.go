package e2e

import (
	"encoding/csv"
	"encoding/json"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// rejectedStart is a failed start: the wrong flags, the exit code, and parts of the error message.
type rejectedStart struct {
	flags []string
	code  int
	says  []string
}

// jargon matches text that only a programmer understands.
var jargon = regexp.MustCompile(`goroutine|panic|runtime error|\.go:|%!|&\{|0x[0-9a-f]|context |sql:|sqlite:|tls: |x509: |asn1|goose|bind: |errno|<nil>`)

// TestFailedStarts: a server that cannot start logs one sentence with the reason and the remedy. Without
// valid flags there is no log, so it prints the sentence.
func TestFailedStarts(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	t.Cleanup(func() { _ = taken.Close() })
	dir := t.TempDir()
	file, made, damaged := filepath.Join(dir, "file"), filepath.Join(dir, "made"), filepath.Join(dir, "damaged")
	must(t, os.WriteFile(file, []byte("no certificate\n"), 0o600))
	petcat(t, made, "init")
	petcat(t, damaged, "init")
	must(t, os.WriteFile(filepath.Join(damaged, "petcat.db"), []byte(strings.Repeat("damaged ", 1000)), 0o600))
	busy, alias := serve(t, directory(t)), t.TempDir()
	must(t, os.Symlink(filepath.Join(busy.place, "petcat.db"), filepath.Join(alias, "petcat.db")))
	cert, _ := writeCertificate(t, t.TempDir(), "petcat")
	for _, c := range []rejectedStart{
		{[]string{"--port", "80"}, exitUsage, []string{"--port", "--help"}},
		{[]string{"--bans", "maybe"}, exitConfig, []string{"--bans", "enforce, shadow or off"}},
		{[]string{"--listen", taken.Addr().String()}, exitTryLater, []string{"--listen", taken.Addr().String()}},
		{[]string{"--admin-listen", taken.Addr().String()}, exitTryLater, []string{"--admin-listen"}},
		{[]string{"--data", busy.place}, exitTryLater, []string{"in use", busy.place, "--data"}},
		{[]string{"--data", alias}, exitTryLater, []string{"in use", alias, "--data"}},
		{[]string{"--init=false"}, exitConfig, []string{"no data in", "petcat init"}},
		{[]string{"--data", file}, exitConfig, []string{"not a directory", "--data"}},
		{[]string{"--data", damaged}, exitConfig, []string{"damaged", "backup"}},
		{[]string{"--data", made, "--environment", "staging"}, exitConfig, []string{"production", "--environment"}},
		{[]string{"--tls-cert", file, "--tls-key", file}, exitConfig, []string{"--tls-cert"}},
		{[]string{"--tls-cert", cert}, exitConfig, []string{"--tls-key"}},
		{[]string{"--database", "postgres://nobody@127.0.0.1:1/petcat"}, exitTryLater, []string{"127.0.0.1:1"}},
		{[]string{"--database", "postgres://nobody:a@secret!@127.0.0.1:1/petcat"}, exitConfig, []string{"%40"}},
	} {
		t.Run(strings.Join(c.flags, " "), func(t *testing.T) {
			t.Parallel()
			n := launch(t, directory(t), c.flags...)
			code, said := n.wait(), n.sentences()
			isLine := len(said) == 1 && !strings.HasPrefix(said[0], "petcat: ")
			if code != c.code || len(said) != 1 || isLine == (code == exitUsage) || jargon.MatchString(said[0]) || strings.Contains(said[0], "secret!") {
				t.Fatalf("exit code %d, want %d: %q", code, c.code, said)
			}
			for _, says := range c.says {
				if !strings.Contains(said[0], says) {
					t.Errorf("%q is missing: %s", says, said[0])
				}
			}
		})
	}
}

// TestUsage: the usage history, also as CSV, and the rejections match the responses, also after a restart.
func TestUsage(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(t *testing.T, place string) {
		const each = 20
		k, small := newKey(t, place, "acme", unlimited...), newKey(t, place, "small", limited("1", "1")...)
		bytes := 0
		for range 2 {
			n := serve(t, place)
			for range each {
				bytes += len(n.list(k.Key).want(t, http.StatusOK).body)
			}
			bytes += len(n.create(k.Key, "dog").want(t, http.StatusCreated).body)
			eventually(t, "a request is rejected", func() bool {
				return n.list(small.Key).StatusCode == http.StatusTooManyRequests
			})
			n.stop()
		}
		type history struct {
			Total struct{ Requests, Failed, Bytes int }
		}
		total := petcatJSON[history](t, place, "usage", "acme").Total
		if total.Requests != 2*(each+1) || total.Failed != 0 || total.Bytes != bytes {
			t.Errorf("history: %+v, want %d bytes", total, bytes)
		}
		wantUsageDetail(t, place, k, each)
		type rejected struct {
			Key    string
			Status int
		}
		list := petcatJSON[[]rejected](t, place, "account", "rejections", "small")
		if len(list) == 0 || list[0] != (rejected{small.ID, http.StatusTooManyRequests}) {
			t.Errorf("rejections: %+v", list)
		}
		type compared struct {
			Name     string
			Requests int64
		}
		top := petcatJSON[[]compared](t, place, "usage", "--top")
		if len(top) != 2 || top[0] != (compared{"acme", 2 * (each + 1)}) {
			t.Errorf("top accounts: %+v", top)
		}
		table := petcat(t, place, "usage", "acme", "--by", "hour", "--csv")
		rows, err := csv.NewReader(strings.NewReader(table)).ReadAll()
		must(t, err)
		var sum int64
		for _, row := range rows[1:] {
			n, err := strconv.ParseInt(row[1], 10, 64)
			must(t, err)
			sum += n
		}
		if sum != 2*(each+1) {
			t.Errorf("CSV: %d requests: %v", sum, rows)
		}
	})
}

// wantUsageDetail checks the usage of the account acme by key and operation.
func wantUsageDetail(t *testing.T, place string, k key, each int) {
	t.Helper()
	type part struct {
		Key, Operation string
		Requests       int
	}
	sums := func(group string) map[part]int {
		got := map[part]int{}
		history := petcatJSON[struct{ Detail []part }](t, place, "usage", "acme", group)
		for _, p := range history.Detail { // the day may change during the test
			got[part{Key: p.Key, Operation: p.Operation}] += p.Requests
		}
		return got
	}
	if got := sums("--by-key"); len(got) != 1 || got[part{Key: k.ID}] != 2*(each+1) {
		t.Errorf("by key: %v", got)
	}
	got := sums("--by-operation")
	if len(got) != 2 || got[part{Operation: "listCategories"}] != 2*each || got[part{Operation: "createCategory"}] != 2 {
		t.Errorf("by operation: %v", got)
	}
}

// TestAudit: the audit log has the actions of the commands in order, and its chain is intact.
func TestAudit(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(t *testing.T, place string) {
		k := newKey(t, place, "acme", "free")
		petcat(t, place, "account", "set-plan", "acme", "pro")
		petcat(t, place, "key", "revoke", k.ID, "--yes")
		type entry struct{ Action, Subject string }
		var actions []string
		for _, e := range petcatJSON[[]entry](t, place, "audit", "list") {
			actions = append(actions, e.Action)
		}
		if got := strings.Join(actions, " "); got != "account.create key.create account.set_plan key.revoke" {
			t.Errorf("audit log: %s", got)
		}
		petcat(t, place, "audit", "verify")
	})
}

// TestInspection: health, doctor, config and log-level with a running node, and version.
func TestInspection(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(t *testing.T, place string) {
		n := serve(t, place, "--bans", "shadow")
		k := n.newKey("acme", unlimited...)
		admin := []string{"--admin-listen", strings.TrimPrefix(n.admin, "http://")}
		type health struct{ Status string }
		var h health
		o := run(t, append([]string{"health", "--json"}, admin...)...)
		if o.code != exitDone || json.Unmarshal([]byte(o.stdout), &h) != nil || h.Status != "ready" {
			t.Errorf("health: %+v", o)
		}
		// The data has the node's address, and the node its settings.
		bans := regexp.MustCompile(`(?m)^--bans +PETCAT_BANS +shadow +flag --bans$`)
		if o := run(t, placed(place, "config", "--running")...); o.code != exitDone || !bans.MatchString(o.stdout) {
			t.Errorf("config: %+v", o)
		}
		link := petcat(t, place, "operator", "create", "ada", "--role", "admin")
		if !strings.Contains(link, "\n"+n.admin+"/console/sign-in#") {
			t.Errorf("the link is not for the node at %s: %s", n.admin, link)
		}
		link = petcat(t, place, "account", "link", "acme")
		if !strings.Contains(link, "\n"+n.api+"/account/sign-in#") {
			t.Errorf("the link is not for the node at %s: %s", n.api, link)
		}
		if o := run(t, placed(place, "doctor")...); !strings.Contains(o.stdout, "the node is ready") {
			t.Errorf("doctor does not report that the node is ready: %+v", o)
		}
		if o := run(t, "version"); o.code != exitDone || !strings.HasPrefix(o.stdout, "version ") {
			t.Errorf("version: %+v", o)
		}

		lines := func() int { return strings.Count(n.log.String(), `"msg":"request"`) }
		logged := func(text string) func() bool { return func() bool { return strings.Contains(n.log.String(), text) } }
		petcat(t, place, "log-level", "warn")
		eventually(t, "the node changes its level", logged(`"to":"WARN"`))
		before := lines()
		n.list(k.Key).want(t, http.StatusOK)
		petcat(t, place, "log-level", "reset")
		eventually(t, "the node restores its level", logged(`"to":"INFO"`))
		if now := lines(); now != before {
			t.Errorf("%d requests were logged at level warn", now-before)
		}
		n.list(k.Key).want(t, http.StatusOK)
		eventually(t, "requests are logged again", func() bool { return lines() > before })

		n.stop()
		o = run(t, "health", "--admin-listen", "127.0.0.1:1")
		if o.code != exitFailed || !strings.Contains(o.stderr, "no node responds") {
			t.Errorf("health without a node: %+v", o)
		}
	})
}
