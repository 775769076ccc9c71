package report

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"runtime"
	"strings"

	"github.com/prometheus/procfs"
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
	m := Machine{CPU: "unknown", Cores: runtime.NumCPU(), System: "unknown", Go: runtime.Version()}
	proc, err := procfs.NewDefaultFS()
	if err != nil {
		return m, err
	}
	cpus, err1 := proc.CPUInfo()
	memory, err2 := proc.Meminfo()
	mounts, err3 := procfs.GetMounts()
	kernel, err4 := os.ReadFile("/proc/sys/kernel/osrelease")
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		return m, fmt.Errorf("describe the machine: %w", err)
	}
	m.Kernel, m.FileSystem = strings.TrimSpace(string(kernel)), fileSystem(mounts, dir)
	if len(cpus) > 0 && cpus[0].ModelName != "" {
		m.CPU = cpus[0].ModelName
	}
	if memory.MemTotal != nil {
		m.MemoryGiB = float64(*memory.MemTotal) / (1 << 20) // of KiB
	}
	system, _ := os.ReadFile("/etc/os-release") // which not every system has
	if name := regexp.MustCompile(`(?m)^PRETTY_NAME="?([^"\n]*)`).FindSubmatch(system); name != nil {
		m.System = string(name[1])
	}
	return m, nil
}

// fileSystem returns the kind of file system that a directory is on: that of the
// mount whose path is the longest that it begins with.
func fileSystem(mounts []*procfs.MountInfo, dir string) string {
	kind, longest := "unknown", -1
	for _, m := range mounts {
		at := strings.TrimSuffix(m.MountPoint, "/")
		if (dir == at || strings.HasPrefix(dir, at+"/")) && len(at) > longest {
			kind, longest = m.FSType, len(at)
		}
	}
	return kind
}
