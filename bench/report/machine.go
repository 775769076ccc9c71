package report

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Machine is where it was measured.
type Machine struct {
	CPU        string  `json:"cpu"`
	Cores      int     `json:"cores"`
	MemoryGiB  float64 `json:"memory_gib"`
	System     string  `json:"system"`
	Kernel     string  `json:"kernel"`
	FileSystem string  `json:"file_system"` // of the databases
	Go         string  `json:"go"`
}

// ThisMachine describes the machine, and the file system of a directory.
func ThisMachine(dir string) (Machine, error) {
	cpu, err1 := os.ReadFile("/proc/cpuinfo")
	memory, err2 := os.ReadFile("/proc/meminfo")
	system, err3 := os.ReadFile("/etc/os-release")
	mounts, err4 := os.ReadFile("/proc/self/mounts")
	var name unix.Utsname
	err5 := unix.Uname(&name)
	if err := errors.Join(err1, err2, err4, err5); err != nil {
		return Machine{}, fmt.Errorf("describe the machine: %w", err)
	}
	m := Machine{
		CPU:        field(cpu, "model name", ":"),
		Cores:      runtime.NumCPU(),
		System:     "unknown",
		Kernel:     string(bytes.TrimRight(name.Release[:], "\x00")),
		FileSystem: fileSystem(string(mounts), dir),
		Go:         runtime.Version(),
	}
	if err3 == nil {
		m.System = strings.Trim(field(system, "PRETTY_NAME", "="), `"`)
	}
	if kilobytes, err := strconv.ParseFloat(strings.TrimSuffix(field(memory, "MemTotal", ":"), " kB"), 64); err == nil {
		m.MemoryGiB = kilobytes / (1 << 20)
	}
	return m, nil
}

// field returns the value of the first line that begins with a name.
func field(text []byte, name, separator string) string {
	for line := range strings.Lines(string(text)) {
		key, value, found := strings.Cut(line, separator)
		if found && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return "unknown"
}

// fileSystem returns the kind of file system that a directory is on: that of the
// mount whose path is the longest that it begins with.
func fileSystem(mounts, dir string) string {
	kind, longest := "unknown", -1
	for line := range strings.Lines(mounts) {
		fields := strings.Fields(line)
		if len(fields) < 3 {
			continue
		}
		at := strings.TrimSuffix(fields[1], "/")
		if (dir == at || strings.HasPrefix(dir, at+"/")) && len(at) > longest {
			kind, longest = fields[2], len(at)
		}
	}
	return kind
}
