package main

import (
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/testscript"
)

// TestMain lets the scripts run this very program: the test binary starts as
// petcat when it is called so.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"petcat": main})
}

// TestScript runs testdata/script/*.txtar: what a user types and sees.
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

// changing is what differs from run to run, with what stands for it, of the same
// width.
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

// shows FILE: the last command printed what FILE holds, but for times and keys.
// Blanks at the ends of lines do not count.
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

// exits CODE COMMAND...: the command ends with exactly this code, and, when it
// is not 0, prints one line on stderr and nothing else.
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
		ts.Fatalf("%s ended with %s; want %s", strings.Join(args[1:], " "), code, args[0])
	}
	if stderr := ts.ReadFile("stderr"); code != "0" && (strings.Count(stderr, "\n") != 1 || !strings.HasPrefix(stderr, "petcat: ")) {
		ts.Fatalf("stderr is not one line of petcat's: %q", stderr)
	}
}
