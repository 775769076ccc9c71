package e2e

import (
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"petcat"
)

// TestRunbook follows docs/operations.md on the embedded database, one situation
// after the other, as the page has them.
func TestRunbook(t *testing.T) { //nolint:tparallel // its parts follow each other
	t.Parallel()
	o := newOperator(t, filepath.Join(t.TempDir(), "data"))
	for _, s := range situations(t) {
		if s.apart() {
			continue
		}
		t.Run(s.title, func(t *testing.T) { //nolint:paralleltest // they follow each other
			if s.title == "A customer complains" {
				o.complain(t)
			}
			for _, x := range s.examples {
				o.follow(t, x)
			}
			if s.title == "The first day" {
				eventually(t, 5*time.Second, "the log has the first request", func() bool { return strings.Contains(o.log.String(), `"key":"key_1"`) })
				if code := o.start(filepath.Join(o.dir, "not-mounted")).wait(20 * time.Second); code != exitConfig {
					t.Errorf("without its data, the service ends with %d", code)
				}
			}
		})
	}
}

// TestRunbookDatabaseAway follows what to do when PostgreSQL does not respond.
func TestRunbookDatabaseAway(t *testing.T) {
	t.Parallel()
	c := newClusterApart(t)
	o := newOperator(t, c.database)
	c.postgres.Stop()
	eventually(t, 20*time.Second, "the node is not well, and has logged why", func() bool {
		return !o.well() && strings.Contains(o.log.String(), "the change log cannot be read")
	})
	steps := situationOf(t, databaseAway).examples
	for _, x := range steps[:len(steps)-1] {
		o.follow(t, x)
	}
	must(t, c.postgres.Start(t.Context()))
	o.awaitWell(20 * time.Second)
	o.follow(t, steps[len(steps)-1])
}

// TestRunbookMove follows the way to PostgreSQL.
func TestRunbookMove(t *testing.T) {
	t.Parallel()
	postgres := sharedPostgres.Server(t)
	o := newOperator(t, filepath.Join(t.TempDir(), "data"))
	o.follow(t, example{"sh", "petcat account create acme --plan free"})
	steps := situationOf(t, severalNodes).examples
	o.database = postgres.Database(t) // for the rehearsal
	o.follow(t, steps[0])
	o.database = postgres.Database(t)
	for _, x := range steps[1:] {
		o.follow(t, x)
	}
	s := serve(t, o.database)
	wantStatus(t, s.list(newCaller(t, o.database)), http.StatusOK)
}

// TestRunbookDiskFull follows what to do when the disk is full.
func TestRunbookDiskFull(t *testing.T) {
	t.Parallel()
	volume := disk(t, 8<<20)
	o := newOperator(t, filepath.Join(volume, "data"))
	ballast := fill(t, volume)
	eventually(t, 10*time.Second, "the node says so", func() bool { return !o.well() })
	for _, x := range situationOf(t, diskFull).examples {
		o.follow(t, x)
	}
	must(t, os.Remove(ballast))
	o.awaitWell(10 * time.Second)
}

// TestRunbookKnowsTheCodes: what a customer reads out is what the API says.
func TestRunbookKnowsTheCodes(t *testing.T) {
	told := regexp.MustCompile("(?m)^\\|[^|]*\\| (`[a-z_]+`(?:, `[a-z_]+`)*) \\|").FindAllStringSubmatch(situationOf(t, "A customer complains").text, -1)
	if len(told) < 5 {
		t.Fatalf("the table has %d rows", len(told))
	}
	for _, row := range told {
		for code := range strings.SplitSeq(row[1], ", ") {
			if !slices.Contains(petcat.Codes(), petcat.Code(strings.Trim(code, "`"))) {
				t.Errorf("there is no code %s", code)
			}
		}
	}
}

// The situations that a healthy service on the embedded database is not in.
const (
	databaseAway = "The database is away"
	severalNodes = "Move to several nodes"
	diskFull     = "The disk is full"
)

// situation is a part of the runbook.
type situation struct {
	title    string
	text     string
	examples []example
}

// apart reports whether a test of its own brings the situation about.
func (s situation) apart() bool {
	return s.title == databaseAway || s.title == severalNodes || s.title == diskFull
}

func situationOf(t *testing.T, title string) situation {
	t.Helper()
	for _, s := range situations(t) {
		if s.title == title && len(s.examples) > 0 {
			return s
		}
	}
	t.Fatalf("docs/operations.md does not say what to do: %s", title)
	return situation{}
}

// situations returns the parts of docs/operations.md before its reference.
func situations(t *testing.T) (all []situation) {
	t.Helper()
	text, err := os.ReadFile("../docs/operations.md")
	must(t, err)
	runbook, _, found := strings.Cut(string(text), "\n## Reference\n")
	parts := strings.Split(runbook, "\n## ")
	for _, part := range parts[1:] {
		title, text, _ := strings.Cut(part, "\n")
		all = append(all, situation{title, text, examplesIn(text)})
	}
	if !found || len(all) < 9 {
		t.Fatalf("docs/operations.md has %d situations", len(all))
	}
	return all
}

// operator is somebody who follows the runbook, with a directory in place of those of
// the machine, and the test in place of systemd.
type operator struct {
	*reader
	database string // where to move to
	request  string // the id of a request that somebody complains about
}

// newOperator starts a service as the package does.
func newOperator(t *testing.T, data string) *operator {
	t.Helper()
	o := &operator{reader: &reader{server: serve(t, data), dir: t.TempDir()}}
	must(t, os.Mkdir(filepath.Join(o.dir, "backups"), 0o700))
	must(t, os.WriteFile(o.settings(), nil, 0o600))
	return o
}

// settings is the file with the settings of the service.
func (o *operator) settings() string { return filepath.Join(o.dir, "petcat.env") }

// start starts the service with its settings, as systemd does, and does not wait for it.
func (o *operator) start(data string) *server {
	o.t.Helper()
	cmd := processOf(serveFlags("serve", data, nil)...)
	text, err := os.ReadFile(o.settings())
	must(o.t, err)
	cmd.Env = append(cmd.Env, strings.Fields(string(text))...)
	s := newServer(o.t, data)
	s.launch(cmd)
	return s
}

// journal names a command that prints what the service has logged.
var journal = regexp.MustCompile(`journalctl -u petcat -o cat( --since \S+)?`)

// run runs a command as the operator's shell does. A key that it prints is the one that is
// used from then on.
func (o *operator) run(t *testing.T, command string) (printed string) {
	t.Helper()
	logged := filepath.Join(o.dir, "journal")
	must(t, os.WriteFile(logged, []byte(o.log.String()), 0o600))
	o.url = o.api
	place := "PETCAT_DATA=" + o.data
	if strings.Contains(o.data, "://") {
		place = "PETCAT_DATABASE=" + o.data
	}
	o.variables = []string{
		place, "PETCAT_ADMIN_LISTEN=" + strings.TrimPrefix(o.admin, "http://"), "NEW_DATABASE=" + o.database, "REQUEST_ID=" + o.request,
	}
	o.places = strings.NewReplacer("http://localhost:8081", o.admin, "/var/lib/petcat", o.data, "/var/backups", filepath.Join(o.dir, "backups"), "/etc/petcat/petcat.env", o.settings())
	printed = o.reader.run(t, journal.ReplaceAllString(command, "cat "+logged))
	if key := regexp.MustCompile(`pck_live_\w+`).FindString(printed); key != "" {
		o.key = key
		must(t, os.WriteFile(filepath.Join(o.dir, "leaked.txt"), []byte("somebody's page\n"+key+"\n"), 0o600))
	}
	return printed
}

// follow does what an example of the runbook says.
func (o *operator) follow(t *testing.T, x example) {
	t.Helper()
	switch x.kind {
	case "console":
		for _, m := range shownCommand.FindAllStringSubmatch(x.text, -1) {
			wantShown(t, m[2], o.run(t, m[1]))
		}
	case "sh":
		commands := ""
		for line := range strings.Lines(x.text) {
			if !strings.HasPrefix(line, "systemctl ") {
				commands += line
				continue
			}
			o.run(t, commands)
			commands = ""
			switch strings.TrimSpace(line) {
			case "systemctl stop petcat":
				o.mustStop()
			case "systemctl start petcat":
				o.server = o.start(o.data)
				o.awaitReady()
			default:
				t.Fatalf("no test knows what to do for: %s", line)
			}
		}
		o.run(t, commands)
	default:
		t.Errorf("no test knows what to do with an example of the kind %q: %s", x.kind, x.text)
	}
}

// complain uses all requests of a minute, and takes down the id of one that was refused.
func (o *operator) complain(t *testing.T) {
	t.Helper()
	awaitRoomInMinute(t, 10*time.Second)
	for range 61 {
		if answer := o.list(o.key); answer.StatusCode == http.StatusTooManyRequests {
			o.request = answer.Header.Get("X-Request-Id")
		}
	}
	eventually(t, 5*time.Second, "the log and the recent refusals have the request", func() bool {
		return o.request != "" && strings.Contains(o.log.String(), `"request_id":"`+o.request+`"`) &&
			strings.Contains(petcatDoes(t, o.data, "account", "refusals", "acme"), o.request)
	})
}
