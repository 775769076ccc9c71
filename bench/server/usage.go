package server

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Usage is what a process and its children have taken so far.
type Usage struct {
	CPU     time.Duration // user and system
	Memory  int64         // resident bytes
	PeakMem int64         // the most that was ever resident, in bytes
}

// tick is the unit of processor time in /proc: Linux shows it as 1/100 s on
// every architecture that Go runs on.
const tick = 10 * time.Millisecond

// Usage reads /proc. The workers of a server that has them are its children.
func (p *Process) Usage() (Usage, error) {
	var total Usage
	pids, err := family(p.PID)
	if err != nil {
		return Usage{}, err
	}
	for _, pid := range pids {
		u, err := usageOf(pid)
		if err != nil {
			if pid != p.PID && errors.Is(err, os.ErrNotExist) {
				continue // a child that has just gone
			}
			return Usage{}, err
		}
		total.CPU += u.CPU
		total.Memory += u.Memory
		total.PeakMem += u.PeakMem
	}
	return total, nil
}

func usageOf(pid int) (Usage, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return Usage{}, err
	}
	fields, err := statFields(stat)
	if err != nil {
		return Usage{}, err
	}
	user, err1 := strconv.ParseInt(fields[11], 10, 64)
	system, err2 := strconv.ParseInt(fields[12], 10, 64)
	status, err3 := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err := errors.Join(err1, err2, err3); err != nil {
		return Usage{}, err
	}
	return Usage{
		CPU:     time.Duration(user+system) * tick,
		Memory:  kilobytes(status, "VmRSS:"),
		PeakMem: kilobytes(status, "VmHWM:"),
	}, nil
}

// statFields returns the fields of /proc/PID/stat from the state on. The name
// before it stands in brackets and may hold anything.
func statFields(stat []byte) ([]string, error) {
	i := bytes.LastIndexByte(stat, ')')
	fields := strings.Fields(string(stat[i+1:]))
	if i < 0 || len(fields) < 13 {
		return nil, fmt.Errorf("not a line of /proc/PID/stat: %q", stat)
	}
	return fields, nil
}

// kilobytes reads a line such as "VmHWM:	  1234 kB" of /proc/PID/status, in
// bytes; 0 when there is none.
func kilobytes(status []byte, name string) int64 {
	for line := range strings.Lines(string(status)) {
		if rest, found := strings.CutPrefix(line, name); found {
			n, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")), 10, 64)
			if err == nil {
				return n << 10
			}
		}
	}
	return 0
}

// family returns a process and its children.
func family(pid int) ([]int, error) {
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return nil, err
	}
	pids := []int{pid}
	for _, file := range stats {
		stat, err := os.ReadFile(file)
		if err != nil {
			continue // it has just gone
		}
		fields, err := statFields(stat)
		if err != nil || fields[1] != strconv.Itoa(pid) {
			continue
		}
		if child, err := strconv.Atoi(strings.Split(file, "/")[2]); err == nil {
			pids = append(pids, child)
		}
	}
	return pids, nil
}
