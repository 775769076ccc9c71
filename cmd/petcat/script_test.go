package main

import (
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/testscript"
)

// TestMain lets scripts run this program: if the test binary is called petcat, it runs petcat.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"petcat": main})
}

// TestScript runs the commands in testdata/script/*.txtar and checks their output.
func TestScript(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(e *testscript.Env) error {
			e.Setenv("ACTOR", string(actor()))
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"shows": shows,
			"exits": exits,
		},
	})
}

// changing matches text that differs between runs, and has its replacement of the same width.
var changing = []struct {
	pattern *regexp.Regexp
	name    string
}{
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`), "YYYY-MM-DDThh:mm:ssZ"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z`), "YYYY-MM-DDThh:mm:ss.mmmZ"},
	{regexp.MustCompile(`"actor": "cli:[^"]+"`), `"actor": "cli:USER"`},
	{regexp.MustCompile(`"hash": "[0-9a-f]{64}"`), `"hash": "HASH"`},
	{regexp.MustCompile(`pck_live_[0-9A-Za-z]{38}`), "pck_live_" + strings.Repeat("x", 38)},
	{regexp.MustCompile(`pck_test_[0-9A-Za-z]{38}`), "pck_test_" + strings.Repeat("x", 38)},
	{regexp.MustCompile(`…[0-9A-Za-z]{4}`), "…hint"},
	{regexp.MustCompile(`"hint": "[0-9A-Za-z]{4}"`), `"hint": "hint"`},
}

// shows FILE checks that the last command printed the content of FILE, apart from times, keys and
// trailing blanks.
func shows(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: shows FILE")
	}
	got := ts.ReadFile("stdout")
	for _, c := range changing {
		got = c.pattern.ReplaceAllString(got, c.name)
	}
	if diff := cmp.Diff(trimLines(ts.ReadFile(args[0])), trimLines(got)); diff != "" {
		ts.Fatalf("stdout differs from %s (-want +got):\n%s", args[0], diff)
	}
}

func trimLines(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimRight(line, " ")
	}
	return strings.Join(lines, "\n")
}

// exits CODE COMMAND... checks the exit code of a command and, if it is not 0, that the command
// prints exactly one line, on stderr. The line of petcat serve is in its log.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND...")
	}
	err := ts.Exec(args[1], args[2:]...)
	code := "0"
	if err != nil {
		code = strings.TrimPrefix(err.Error(), "exit status ")
	}
	if code != args[0] {
		ts.Fatalf("%s exited with %s; want %s", strings.Join(args[1:], " "), code, args[0])
	}
	stderr := ts.ReadFile("stderr")
	isPetcats := strings.HasPrefix(stderr, "petcat: ") || strings.Contains(stderr, `"exit_code":`+code+"}")
	if code != "0" && (strings.Count(stderr, "\n") != 1 || !isPetcats) {
		ts.Fatalf("stderr is not one line of petcat's: %q", stderr)
	}
}
