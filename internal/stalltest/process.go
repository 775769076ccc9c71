package stalltest

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"
)

// name is how a test's binary is called as the control process.
const name = "petcat-control"

// gap is how late a look at the clock, due each millisecond, must be to count as a stall
// of the machine.
const gap = 5 * time.Millisecond

// process is a control process.
type process struct {
	cmd    *exec.Cmd
	ask    io.WriteCloser
	answer *bufio.Reader
}

// The control process is the test's own binary, whichever that is, so it has to go its own
// way before main, which is the tests.
func init() { //nolint:gochecknoinits // no package's tests need to know of it
	if filepath.Base(os.Args[0]) == name {
		run(os.Stdin, os.Stdout)
		os.Exit(0)
	}
}

func startProcess() (*process, error) {
	executable, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(executable)
	cmd.Args[0] = name
	cmd.Stderr = os.Stderr
	ask, err := cmd.StdinPipe() // it ends when this is closed, also by the end of the tests
	if err != nil {
		return nil, err
	}
	answer, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	return &process{cmd, ask, bufio.NewReader(answer)}, cmd.Start()
}

func (p *process) end() {
	_ = p.ask.Close()
	_ = p.cmd.Wait()
}

// The questions to a control process.
const (
	// lap asks for how long it stood still since the last lap, and begins the next one.
	lap = "lap"
	// look asks the same and begins nothing.
	look = "look"
)

// answers returns for how long the process stood still, at most at once and in all, since
// the last lap.
func (p *process) answers(question string) (longest, lost time.Duration, err error) {
	if _, err := io.WriteString(p.ask, question+"\n"); err != nil {
		return 0, 0, err
	}
	line, err := p.answer.ReadString('\n')
	if err == nil {
		_, err = fmt.Sscan(line, (*int64)(&longest), (*int64)(&lost))
	}
	return longest, lost, err
}

// run is the control process: it answers each question by for how many nanoseconds it
// stood still, at most and in all.
func run(in io.Reader, out io.Writer) {
	var mu sync.Mutex
	last, longest, lost := time.Now(), time.Duration(0), time.Duration(0) // all guarded by mu
	now := func() {
		stood := time.Since(last)
		last, longest = last.Add(stood), max(longest, stood)
		if stood > gap {
			lost += stood
		}
	}
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	go func() {
		for range tick.C {
			mu.Lock()
			now()
			mu.Unlock()
		}
	}()
	for lines := bufio.NewScanner(in); lines.Scan(); {
		mu.Lock()
		now()
		_, _ = fmt.Fprintln(out, longest.Nanoseconds(), lost.Nanoseconds())
		if lines.Text() == lap {
			longest, lost = 0, 0
		}
		mu.Unlock()
	}
}
