package e2e

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// situations returns the sections of docs/operations.md before the setup, in order.
func situations(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile("../docs/operations.md")
	must(t, err)
	runbook, _, found := strings.Cut(string(text), "\n## Install\n")
	sections := strings.Split(runbook, "\n## ")[1:]
	if !found || len(sections) < 10 {
		t.Fatalf("docs/operations.md has %d situations", len(sections))
	}
	return sections
}

// machine runs the commands of the runbook, with a directory instead of the root of the file system, and
// fakes for systemd, the journal and the package manager.
type machine struct {
	*node
	dir     string
	secret  string // the last printed key
	request string // an X-Request-Id
}

// newMachine starts a service with an operator.
func newMachine(t *testing.T) *machine {
	t.Helper()
	m := &machine{dir: t.TempDir()}
	for _, name := range []string{"bin", "backups", "etc"} {
		must(t, os.Mkdir(filepath.Join(m.dir, name), 0o700))
	}
	// The last upgrade and the rehearsal of the move left their backups.
	names := []string{"etc/petcat.env", "backups/petcat-before-upgrade.backup", "backups/petcat-final.backup"}
	for _, name := range names {
		must(t, os.WriteFile(filepath.Join(m.dir, name), nil, 0o600))
	}
	for name, script := range map[string]string{
		"apt":        "",
		"systemctl":  "",
		"journalctl": `cat "$JOURNAL"; echo '{"level":"ERROR"}'`,
		"runuser":    `shift 3; exec "$@"`,
	} {
		must(t, os.WriteFile(filepath.Join(m.dir, "bin", name), []byte("#!/bin/sh\n"+script+"\n"), 0o700))
	}
	must(t, os.Symlink(program, filepath.Join(m.dir, "bin/petcat")))
	examples, err := filepath.Abs("../deploy/systemd/petcat.service.d")
	must(t, err)
	must(t, os.Symlink(examples, filepath.Join(m.dir, "examples")))
	data := filepath.Join(m.dir, "data")
	petcat(t, data, "init")
	petcat(t, data, "operator", "create", "ada", "--role", "admin")
	m.start(t)
	eventually(t, "the nightly backup exists", func() bool {
		return strings.Contains(m.log.String(), "scheduled backup finished")
	})
	return m
}

func (m *machine) start(t *testing.T) {
	t.Helper()
	data := filepath.Join(m.dir, "data")
	m.node = serve(t, data, "--node-name", "web-2", "--backup-every", "24h", "--backup-dir", data+"-backups")
}

// run runs commands in a shell. They must succeed.
func (m *machine) run(t *testing.T, commands string) (stdout string) {
	t.Helper()
	journal := filepath.Join(m.dir, "journal")
	must(t, os.WriteFile(journal, []byte(m.log.String()), 0o600))
	if m.secret != "" {
		must(t, os.WriteFile(filepath.Join(m.dir, "leaked.txt"), []byte("a page with "+m.secret+"\n"), 0o600))
		commands = strings.ReplaceAll(commands, "7kQz", m.secret[len(m.secret)-10:len(m.secret)-6])
	}
	// Relative to the directory, whose path may contain spaces.
	commands = strings.NewReplacer(
		"http://localhost:8080", m.api,
		"http://localhost:8081", m.admin,
		"/var/lib/petcat", "data",
		"/etc/systemd/system", "etc",
		"/usr/share/doc/petcat/examples", "examples",
		"/var/backups", "backups",
		"/etc/petcat", "etc",
	).Replace(commands)
	cmd := exec.Command("sh", "-ec", commands)
	cmd.Dir = m.dir
	cmd.SysProcAttr = diesWithTest()
	cmd.Env = []string{
		"PATH=" + filepath.Join(m.dir, "bin") + ":" + os.Getenv("PATH"),
		"HOME=" + m.dir,
		"JOURNAL=" + journal,
		"PETCAT_DATA=" + m.place,
		"PETCAT_ADMIN_LISTEN=" + strings.TrimPrefix(m.admin, "http://"),
		"PETCAT_API_KEY=" + m.secret,
		"REQUEST_ID=" + m.request,
	}
	if strings.Contains(commands, "$NEW_DATABASE") {
		cmd.Env = append(cmd.Env, "NEW_DATABASE="+database(t))
	}
	o := finish(t, cmd)
	if o.code != exitDone {
		t.Errorf("%s\nexited with %d: %s%s", commands, o.code, o.stdout, o.stderr)
	}
	if secret := regexp.MustCompile(`pck_live_\w+`).FindString(o.stdout); secret != "" {
		m.secret = secret
	}
	return o.stdout
}

// follow runs an example.
func (m *machine) follow(t *testing.T, x example) {
	t.Helper()
	if x.kind == "console" {
		for _, c := range shownCommand.FindAllStringSubmatch(x.text, -1) {
			if printed := m.run(t, c[1]); c[2] != "" {
				wantShown(t, "operations.md", c[2], printed)
			}
		}
		return
	}
	commands := ""
	// sh -e stops at a failure, as && does in an interactive shell.
	for line := range strings.Lines(strings.ReplaceAll(x.text, " &&\n", "\n")) {
		switch {
		case line == "systemctl stop petcat\n":
			m.run(t, commands)
			m.stop()
			commands = ""
		case strings.HasPrefix(line, "apt install"): // restarts the service
			m.run(t, commands+line)
			m.stop()
			m.start(t)
			commands = ""
		case line == "systemctl start petcat\n":
			m.run(t, commands)
			m.start(t)
			commands = ""
		default:
			commands += line
		}
	}
	m.run(t, commands)
}

// TestRunbook runs the commands of docs/operations.md before the setup, in order.
func TestRunbook(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	for _, section := range situations(t) {
		if m.secret != "" && m.request == "" {
			m.request = m.list(m.secret).want(t, http.StatusOK).Header.Get("X-Request-Id")
			eventually(t, "the request is in the log", func() bool {
				return strings.Contains(m.log.String(), m.request)
			})
			m.create(m.secret, "Rubbish").want(t, http.StatusCreated) // category 1
		}
		for _, x := range examplesIn(section) {
			m.follow(t, x)
		}
	}
}

// TestNodeRole: a node needs only the PostgreSQL privileges in docs/scaling.md.
func TestNodeRole(t *testing.T) {
	t.Parallel()
	place := database(t)
	k := newKey(t, place, "acme", unlimited...)
	text, err := os.ReadFile("../docs/scaling.md")
	must(t, err)
	statements := regexp.MustCompile("(?s)```sql\n(.*?)```").FindStringSubmatch(string(text))
	if statements == nil {
		t.Fatal("docs/scaling.md grants no privileges")
	}
	server := sharedPostgres.Server(t)
	server.Execute(t, place, statements[1])
	defer server.Execute(t, place, "DROP OWNED BY node_of_petcat; DROP ROLE node_of_petcat")
	n := serve(t, strings.Replace(place, "user=petcat", "user=node_of_petcat", 1))
	n.create(k.Key, "dog").want(t, http.StatusCreated)
	n.list(k.Key).want(t, http.StatusOK)
	n.stop()
}
