// Package processtest runs a part of a test in a process of its own, which is the test's
// own binary once more: however busy the test is, that part is not. It is for tests alone.
package processtest

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
)

// Process is a process that answers questions, each of which is a line.
type Process struct {
	cmd *exec.Cmd

	mu     sync.Mutex
	ask    io.WriteCloser // guarded by mu
	answer *bufio.Reader  // guarded by mu
}

// Main makes the test's binary answer questions where [Start] started it by this name, and
// returns everywhere else. It is called by an init function: main is the tests.
func Main(name string, newAnswerer func() (answer func(question string) string)) {
	if filepath.Base(os.Args[0]) != name {
		return
	}
	answer := newAnswerer()
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		_, _ = fmt.Println(answer(lines.Text()))
	}
	os.Exit(0) // nobody asks any more
}

// Start starts the test's binary as what called [Main] by a name. It ends with the test,
// whichever way that ends.
func Start(name string) (*Process, error) {
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
	return &Process{cmd: cmd, ask: ask, answer: bufio.NewReader(answer)}, cmd.Start()
}

// Ask returns the answer to a question.
func (p *Process) Ask(question string) (string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, err := io.WriteString(p.ask, question+"\n"); err != nil {
		return "", err
	}
	line, err := p.answer.ReadString('\n')
	return strings.TrimSuffix(line, "\n"), err
}

// Signal sends the process a signal.
func (p *Process) Signal(s os.Signal) error { return p.cmd.Process.Signal(s) }

// End ends the process.
func (p *Process) End() {
	p.mu.Lock()
	defer p.mu.Unlock()
	_ = p.ask.Close()
	_ = p.cmd.Wait()
}
