package server

import (
	"io/fs"
	"math"
	"path"
	"strconv"
	"strings"
)

// The memory of a node, in bytes; docs/operations.md has the same numbers. The rest of it is for
// connections.
const (
	programMemory    = 100e6    // without categories and clients
	bodyMemory       = 64 << 20 // of all bodies in flight
	copiesOfList     = 3        // plain and compressed
	connectionMemory = 300e3    // of a connection whose client never reads
)

// memoryLimit returns the memory that this process may use: the lowest limit of its control groups (Linux),
// or 1.25 times GOMEMLIMIT, which should be 80% of the memory. Without a limit, it is math.MaxInt64. system
// is the root of the file system.
func memoryLimit(system fs.FS, goMemLimit int64) int64 {
	limit := int64(math.MaxInt64)
	if goMemLimit < math.MaxInt64/2 {
		limit = goMemLimit + goMemLimit/4
	}
	groups, err := fs.ReadFile(system, "proc/self/cgroup")
	if err != nil {
		return limit
	}
	for line := range strings.Lines(string(groups)) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3) // such as 0::/system.slice/petcat.service
		if len(parts) != 3 {
			continue
		}
		switch {
		case parts[1] == "": // version 2
			limit = min(limit, groupLimit(system, "sys/fs/cgroup", parts[2], "memory.max"))
		case strings.Contains(","+parts[1]+",", ",memory,"): // version 1
			limit = min(limit, groupLimit(system, "sys/fs/cgroup/memory", parts[2], "memory.limit_in_bytes"))
		}
	}
	return limit
}

// groupLimit returns the lowest limit of a control group and the groups that contain it.
func groupLimit(system fs.FS, root, group, name string) int64 {
	limit := int64(math.MaxInt64)
	for group = path.Clean("/" + group); ; group = path.Dir(group) {
		text, err := fs.ReadFile(system, path.Join(root, group, name))
		n, notNumber := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64) // "max" without a limit
		if err == nil && notNumber == nil && n > 0 {
			limit = min(limit, n)
		}
		if group == "/" {
			return limit
		}
	}
}

// connectionsInMemory returns the number of connections for which there is memory.
func connectionsInMemory(limit, maxCategoriesSize int64) int64 {
	return (limit - programMemory - bodyMemory - copiesOfList*maxCategoriesSize) / connectionMemory
}
