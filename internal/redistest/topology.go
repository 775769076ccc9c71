package redistest

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Sentinel is a primary, a replica, and a Sentinel that watches them.
type Sentinel struct {
	Primary, Replica, Watcher *Server
}

// MasterName is what Sentinels call what they watch here.
const MasterName = "petcat"

// StartSentinel starts servers under Sentinel, which takes a second to notice
// that the primary is gone.
func StartSentinel(tb testing.TB) *Sentinel {
	tb.Helper()
	primary := Start(tb, "--repl-diskless-sync-delay", "0")
	replica := Start(tb, "--replicaof", "127.0.0.1 "+strconv.Itoa(primary.Port()))
	s := &Sentinel{Primary: primary, Replica: replica, Watcher: newServer(tb, Binary(tb))}
	file := filepath.Join(tb.TempDir(), "sentinel.conf")
	text := fmt.Sprintf("port %d\nbind 127.0.0.1\nprotected-mode no\nsentinel monitor %s 127.0.0.1 %d 1\n"+
		"sentinel down-after-milliseconds %s 1000\nsentinel failover-timeout %s 2000\n",
		s.Watcher.Port(), MasterName, primary.Port(), MasterName, MasterName)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		tb.Fatal(err)
	}
	s.Watcher.args = []string{s.Watcher.args[0], file, "--sentinel"}
	if err := s.Watcher.launch(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(s.Watcher.end)
	primary.Until("the replica follows", func() bool {
		return strings.Contains(replica.MustDo("INFO", "replication"), "master_link_status:up")
	})
	primary.Until("the Sentinel knows the replica", func() bool {
		return strings.Contains(s.Watcher.MustDo("SENTINEL", "replicas", MasterName), strconv.Itoa(replica.Port()))
	})
	return s
}

// URL returns the URL of what the Sentinel watches.
func (s *Sentinel) URL() string {
	return "redis-sentinel://" + s.Watcher.Address() + "?master=" + MasterName
}

// Cluster is three primaries that share the hash slots.
type Cluster struct{ Servers []*Server }

// StartCluster starts a cluster whose servers go on when one of them is gone.
func StartCluster(tb testing.TB) *Cluster {
	tb.Helper()
	const size, slots = 3, 16_384
	c := &Cluster{}
	for i := range size {
		s := Start(tb, "--cluster-enabled", "yes", "--cluster-node-timeout", "1000", "--cluster-require-full-coverage", "no")
		s.MustDo("CLUSTER", "ADDSLOTSRANGE", strconv.Itoa(slots*i/size), strconv.Itoa(slots*(i+1)/size-1))
		c.Servers = append(c.Servers, s)
	}
	for _, s := range c.Servers[1:] {
		c.Servers[0].MustDo("CLUSTER", "MEET", "127.0.0.1", strconv.Itoa(s.Port()))
	}
	for _, s := range c.Servers {
		s.Until("the cluster is complete", func() bool {
			info := s.MustDo("CLUSTER", "INFO")
			return strings.Contains(info, "cluster_state:ok") && strings.Contains(info, "cluster_known_nodes:3") &&
				strings.Contains(info, "cluster_slots_ok:"+strconv.Itoa(slots))
		})
	}
	return c
}

// Replicate starts a replica of a server, and returns when it has the server's data and
// all others know it.
func (c *Cluster) Replicate(tb testing.TB, server int) *Server {
	tb.Helper()
	primary := c.Servers[server]
	primary.MustDo("CONFIG", "SET", "repl-diskless-sync-delay", "0")
	replica := Start(tb, "--cluster-enabled", "yes", "--cluster-node-timeout", "1000", "--repl-diskless-sync-delay", "0")
	replica.MustDo("CLUSTER", "MEET", "127.0.0.1", strconv.Itoa(primary.Port()))
	id := primary.MustDo("CLUSTER", "MYID")
	replica.Until("it knows the primary", func() bool { return strings.Contains(replica.MustDo("CLUSTER", "NODES"), id) })
	replica.Until("it may follow", func() bool { _, err := replica.Do("CLUSTER", "REPLICATE", id); return err == nil })
	replica.Until("it follows", func() bool { return strings.Contains(replica.MustDo("INFO", "replication"), "master_link_status:up") })
	mine := replica.MustDo("CLUSTER", "MYID")
	for _, s := range c.Servers {
		s.Until("it knows the replica", func() bool { return strings.Contains(s.MustDo("CLUSTER", "NODES"), mine) })
	}
	return replica
}

// URL returns the cluster's URL.
func (c *Cluster) URL() string {
	addresses := make([]string, len(c.Servers))
	for i, s := range c.Servers {
		addresses[i] = s.Address()
	}
	return "redis-cluster://" + strings.Join(addresses, ",")
}

// Until waits until something holds.
func (s *Server) Until(what string, holds func() bool) {
	s.tb.Helper()
	for deadline := time.Now().Add(timeout); !holds(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			s.tb.Fatalf("%s: not within %s", what, timeout)
		}
	}
}
