package server

import (
	"math"
	"testing"
	"testing/fstest"
)

// TestMemoryLimit: the lowest limit applies, of GOMEMLIMIT and of the control groups of both versions.
func TestMemoryLimit(t *testing.T) {
	t.Parallel()
	const none = math.MaxInt64
	for name, c := range map[string]struct {
		files map[string]string
		goes  int64 // GOMEMLIMIT
		want  int64
	}{
		"no limit":   {nil, none, none},
		"GOMEMLIMIT": {nil, 400 << 20, 500 << 20},
		"a container": {map[string]string{
			"proc/self/cgroup":         "0::/\n",
			"sys/fs/cgroup/memory.max": "536870912\n",
		}, none, 512 << 20},
		"a service in a limited slice": {map[string]string{
			"proc/self/cgroup": "0::/a.slice/petcat.service\n",
			"sys/fs/cgroup/a.slice/petcat.service/memory.max": "max\n",
			"sys/fs/cgroup/a.slice/memory.max":                "1000\n",
		}, none, 1000},
		"version 1": {map[string]string{
			"proc/self/cgroup":                           "5:cpu,cpuacct:/x\n4:memory:/docker/x\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes": "2000\n", // the container's, as it sees it
		}, none, 2000},
		"GOMEMLIMIT below the group's": {map[string]string{
			"proc/self/cgroup":         "0::/\n",
			"sys/fs/cgroup/memory.max": "536870912\n",
		}, 100 << 20, 125 << 20},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			system := fstest.MapFS{}
			for path, text := range c.files {
				system[path] = &fstest.MapFile{Data: []byte(text)}
			}
			if got := memoryLimit(system, c.goes); got != c.want {
				t.Errorf("got %d, want %d", got, c.want)
			}
		})
	}
}
