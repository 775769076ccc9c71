package rediscounters_test

import (
	"errors"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"petcat/internal/counters"
	"petcat/internal/redistest"
	"petcat/internal/stalltest"
)

// clusterNodes returns a node for each partition of a cluster, all of one connection.
func clusterNodes(t *testing.T, c *redistest.Cluster) []*node {
	t.Helper()
	shared := open(t, c.URL(), nil)
	var all []*node
	for p := range shared.Partitions() {
		n := &node{TB: t, Counters: shared, partition: p}
		all = append(all, n)
	}
	return all
}

// TestCluster has one cluster for all that is tried with clusters, because it takes
// long to start.
func TestCluster(t *testing.T) { //nolint:tparallel // its parts break the cluster, one after the other
	t.Parallel()
	c := redistest.StartCluster(t)
	t.Run("suite", func(t *testing.T) { testClusterSuite(t, c) })
	for _, s := range c.Servers {
		s.Flush()
	}
	t.Run("rights", func(t *testing.T) {
		allow(rights+" +cluster", c.Servers...)
		n := join(t, strings.Replace(c.URL(), "://", "://"+user, 1))
		n.everything()
		wantNothingDenied(t, c.Servers...)
	})
	for _, s := range c.Servers {
		s.Flush()
	}
	t.Run("parts", func(t *testing.T) { testClusterParts(t, c) })
	t.Run("slot migration", func(t *testing.T) { testSlotMigration(t, c) })
	t.Run("failover", func(t *testing.T) { testClusterFailover(t, c) })
}

// All servers have partitions, one that hangs or is dead concerns its own alone, and
// a node starts meanwhile.
func testClusterParts(t *testing.T, c *redistest.Cluster) {
	t.Helper()
	nodes := clusterNodes(t, c)
	if len(nodes) != counters.MaxPartitions {
		t.Fatalf("%d partitions", len(nodes))
	}
	for _, n := range nodes {
		n.learn()
		n.fill(3)
	}
	for i, s := range c.Servers {
		if keys, _ := strconv.Atoi(s.MustDo("DBSIZE")); keys < 2*20 || keys > 2*23 {
			t.Errorf("server %d has %d keys, want those of a third of the partitions", i, keys)
		}
	}
	control := stalltest.Start(t)
	check := func(nodes []*node) {
		t.Helper()
		var all sync.WaitGroup
		var away atomic.Int64
		control.Lap()
		began := time.Now()
		for _, n := range nodes {
			all.Go(func() {
				ctx, cancel := timeout(200 * time.Millisecond)
				defer cancel()
				if _, _, err := n.Probe(ctx, n.partition); err != nil {
					away.Add(1)
				}
			})
		}
		all.Wait()
		control.Judge("probes with 200 ms", time.Since(began), 300*time.Millisecond)
		if n := away.Load(); n < 20 || n > 23 {
			t.Errorf("%d partitions are away, want those of a third", n)
		}
	}
	c.Servers[0].Hang()
	check(nodes)
	control.Lap()
	began := time.Now()
	started := clusterNodes(t, c)
	control.Judge("to start nodes", time.Since(began), 12*time.Second)
	check(started)
	c.Servers[0].Kill()
	check(nodes)
	c.Servers[0].Restart()
	for _, n := range nodes {
		before := n.epoch
		if after := n.learn(); n.partition < 20 && before == after || n.partition > 24 && before != after {
			t.Errorf("partition %d had the epoch %+v and has %+v", n.partition, before, after)
		}
	}
}

// A replica takes a shard over.
func testClusterFailover(t *testing.T, c *redistest.Cluster) {
	t.Helper()
	replica := c.Replicate(t, 0)
	n := clusterNodes(t, c)[1]
	n.learn()
	n.fill(5)
	replica.Until("it has heard so far", func() bool { return replica.MustDo("DBSIZE") != "0" })
	n.wantEpoch()
	replica.Until("it takes over", func() bool {
		_, _ = replica.Do("CLUSTER", "FAILOVER", "FORCE")
		return strings.HasPrefix(replica.MustDo("ROLE"), "master")
	})
	eventually(t, "the node is told", func() bool {
		_, err := n.charge(1)
		_, is := errors.AsType[*counters.WrongEpoch](err)
		return is
	})
	n.learn()
	n.fill(5)
}

// While a partition moves, its charges are decided once or refused; afterwards a new
// epoch holds.
func testSlotMigration(t *testing.T, c *redistest.Cluster) {
	t.Helper()
	n := clusterNodes(t, c)[0]
	n.learn()
	n.fill(5)
	from, to := c.Servers[0], c.Servers[1]
	slot := from.MustDo("CLUSTER", "KEYSLOT", "petcat:{10}:epoch")
	to.MustDo("CLUSTER", "SETSLOT", slot, "IMPORTING", from.MustDo("CLUSTER", "MYID"))
	from.MustDo("CLUSTER", "SETSLOT", slot, "MIGRATING", to.MustDo("CLUSTER", "MYID"))
	before, admitted := n.epoch, int64(5)
	try := func() {
		t.Helper()
		f, err := n.charge(2)
		if wrong, is := errors.AsType[*counters.WrongEpoch](err); is {
			n.epoch = wrong.Now
		} else if err != nil && !strings.Contains(err.Error(), "TRYAGAIN") {
			t.Errorf("while the slot moves: %v", err)
		} else if err == nil {
			if admitted += f.Admitted; f.MinuteUsed != admitted && f.MinuteUsed != f.Admitted {
				t.Errorf("%d are used, want the %d that were admitted, or a new minute", f.MinuteUsed, admitted)
			}
		}
	}
	try()
	for key := range strings.SplitSeq(from.MustDo("CLUSTER", "GETKEYSINSLOT", slot, "10"), "\n") {
		from.MustDo("MIGRATE", "127.0.0.1", port(to), key, "0", "1000")
		try()
	}
	try()
	for _, s := range []*redistest.Server{to, from, c.Servers[2]} {
		s.MustDo("CLUSTER", "SETSLOT", slot, "NODE", to.MustDo("CLUSTER", "MYID"))
	}
	if n.learn() == before {
		t.Error("the epoch moved with the slot")
	}
	n.fill(2)
}
