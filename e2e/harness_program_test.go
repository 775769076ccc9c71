package e2e

import (
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"petcat/internal/stalltest"
)

// The exit codes that docs/operations.md promises.
const (
	exitDone     = 0
	exitFailed   = 1
	exitUsage    = 2
	exitTryLater = 75
	exitConfig   = 78
)

// programFile is the program that is tested. TestMain builds it.
var programFile string

func TestMain(m *testing.M) {
	code, err := runTests(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// What is parallel here waits most of the time, so mostSideBySide tests run at once, or one
// on each processor, on a machine that starts the program within quickStart. On a slower
// one they would take the processors from each other, and what they measure would be void.
const (
	mostSideBySide = 5
	quickStart     = 6 * time.Millisecond
)

// sideBySide returns how many tests are to run at once that may.
func sideBySide() int {
	const each = 20
	processors := runtime.GOMAXPROCS(0)
	begin := time.Now()
	var all sync.WaitGroup
	for range processors {
		all.Go(func() {
			for range each {
				_ = processOf("version").Run() // if it does not run, no test passes
			}
		})
	}
	all.Wait()
	start, tests := time.Since(begin)/time.Duration(each*processors), max(mostSideBySide, processors)
	if start > quickStart {
		tests = max(2, int(time.Duration(tests)*quickStart/start))
	}
	fmt.Printf("%d tests run side by side: the program starts in %s\n", tests, start.Round(10*time.Microsecond))
	return tests
}

// runTests builds the program, runs all tests, and removes what they share.
func runTests(m *testing.M) (code int, err error) {
	dir, err := os.MkdirTemp("", "petcat-e2e-")
	if err != nil {
		return 0, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	programFile = filepath.Join(dir, "petcat")
	if err := build(programFile); err != nil {
		return 0, err
	}
	defer sharedPostgres.Remove()
	if !stalltest.Race { // under the race detector servers need processors of their own
		if err := flag.Set("test.parallel", strconv.Itoa(sideBySide())); err != nil {
			return 0, err
		}
	}
	return m.Run(), nil
}

// build builds the program with some tags.
func build(file string, tags ...string) error {
	cmd := exec.Command("go", "build", "-buildvcs=false", "-race="+strconv.FormatBool(stalltest.Race), "-tags="+strings.Join(tags, ","), "-o", file, "../cmd/petcat")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build the program: %w: %s", err, out)
	}
	return nil
}

// processOf returns the program with arguments, and with no variables but those that
// every process has.
func processOf(args ...string) *exec.Cmd {
	cmd := exec.Command(programFile, args...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + filepath.Dir(programFile)}
	cmd.SysProcAttr = diesWithTest()
	return cmd
}

// execute runs the program to its end, and returns its exit code, -1 for a signal.
func execute(t testing.TB, args, variables []string, stdin io.Reader, stdout, stderr io.Writer) (code int) {
	t.Helper()
	cmd := processOf(args...)
	cmd.Env = append(cmd.Env, variables...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, stdout, stderr
	if err := cmd.Run(); cmd.ProcessState == nil {
		t.Errorf("petcat %s: %v", strings.Join(args, " "), err)
		return -1
	}
	return cmd.ProcessState.ExitCode()
}

// petcatRuns runs a command off a terminal, and returns how it ended and what it
// printed.
func petcatRuns(t testing.TB, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs strings.Builder
	code = execute(t, args, nil, nil, &out, &errs)
	return code, out.String(), errs.String()
}

// mustRun is petcatRuns for what has to succeed.
func mustRun(t testing.TB, args ...string) (stdout string) {
	t.Helper()
	code, stdout, stderr := petcatRuns(t, args...)
	if code != exitDone {
		t.Fatalf("petcat %s: exit code %d: %s", strings.Join(args, " "), code, stderr)
	}
	return stdout
}
