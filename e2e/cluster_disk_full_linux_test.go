package e2e

import (
	"crypto/rand"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"petcat"
	"petcat/internal/pgtest"
	"petcat/internal/stalltest"
)

// smallDisk returns a small disk that PostgreSQL may write to.
func (c *cluster) smallDisk(bytes int64) (volume string) {
	c.t.Helper()
	volume = filepath.Join(c.postgres.Dir(), "small")
	must(c.t, os.Mkdir(volume, 0o700))
	diskAt(c.t, volume, bytes)
	info, err := os.Stat(c.postgres.Dir()) // whose PostgreSQL is
	must(c.t, err)
	owner := info.Sys().(*syscall.Stat_t)
	must(c.t, os.Chown(volume, int(owner.Uid), int(owner.Gid)))
	return volume
}

// categoriesOnDisk has PostgreSQL keep the categories on a small disk, and returns where
// that is.
func (c *cluster) categoriesOnDisk() (volume string) {
	c.t.Helper()
	volume = c.smallDisk(8 << 20)
	c.postgres.Execute(c.t, "postgres", fmt.Sprintf("CREATE TABLESPACE small LOCATION '%s'", volume))
	c.postgres.Execute(c.t, c.database, "ALTER TABLE category SET TABLESPACE small")
	return volume
}

// logOnDisk has PostgreSQL keep its log of writes on a small disk, and returns where that
// is.
func (c *cluster) logOnDisk() (volume string) {
	c.t.Helper()
	volume = c.smallDisk(64 << 20)
	c.postgres.Stop()
	log := filepath.Join(c.postgres.Dir(), "data", "pg_wal")
	out, err := exec.Command("cp", "-a", log, volume).CombinedOutput()
	if err != nil {
		c.t.Fatalf("%v: %s", err, out)
	}
	must(c.t, os.RemoveAll(log))
	must(c.t, os.Symlink(filepath.Join(volume, "pg_wal"), log))
	must(c.t, c.postgres.Start(c.t.Context()))
	return volume
}

// TestClusterDiskFull: while PostgreSQL has no room, for its tables or for its log, creates
// are refused, and lists and limits go on; when it has, so do creates, and nothing
// acknowledged is lost. Without room for its log PostgreSQL ends, and has to be started again.
func TestClusterDiskFull(t *testing.T) {
	t.Parallel()
	t.Run("of the tables", func(t *testing.T) {
		t.Parallel()
		c := newClusterApart(t)
		c.diskFull(c.categoriesOnDisk, nil)
		c.postgres.Execute(t, c.database, "ALTER TABLE category SET TABLESPACE pg_default") // the disk goes first
	})
	t.Run("of the log", func(t *testing.T) {
		t.Parallel()
		// A log that keeps little room for itself.
		c := newClusterOn(t, pgtest.New(t, pgtest.Options{Settings: map[string]string{"min_wal_size": "32MB"}}))
		c.diskFull(c.logOnDisk, func() {
			c.postgres.Kill() // if it has not ended
			must(t, c.postgres.Start(t.Context()))
		})
		c.postgres.Stop() // the disk goes first
	})
}

// diskFull starts nodes, fills PostgreSQL's disk, and has room again. Restart is for a
// PostgreSQL that has ended for want of it, nil for one that has not.
func (c *cluster) diskFull(disk func() (volume string), restart func()) {
	t := c.t
	t.Helper()
	c.start(2)
	key := c.newCaller()
	volume := disk()
	c.awaitWell(10 * time.Second)
	c.remember(key)
	known := newLedger()
	sent := 0
	create := func() *answer {
		t.Helper()
		sent++
		var description strings.Builder // that cannot be compressed
		for description.Len() < 4_900 {
			description.WriteString(rand.Text())
		}
		name := fmt.Sprint("pet ", sent)
		known.send(name)
		a := c.nodes[sent%2].do(http.MethodPost, "/v1/categories", `{"name":"`+name+`","description":"`+description.String()+`"}`, withKey(key))
		if a.StatusCode == http.StatusCreated {
			known.acknowledge(a.category(t))
		}
		return a
	}
	wantStatus(t, create(), http.StatusCreated)
	ballast := fill(t, volume)
	eventually(t, 20*time.Second, "there is no room", func() bool { return create().code() == petcat.CodeServiceUnavailable })
	rounds := 10
	if stalltest.Race { // more would take longer than the nodes go on without PostgreSQL
		rounds = 3
	}
	for range rounds {
		wantError(t, create(), http.StatusServiceUnavailable, petcat.CodeServiceUnavailable)
		for _, s := range c.nodes {
			if list := s.categories(key); restart == nil { // else it is as old as the other node's last creates
				known.check(list)
			}
		}
	}
	eventually(t, 5*time.Second, "it is told", func() bool {
		return c.all(func(s *server) bool { return s.metric("petcat_store_up") == 0 && s.readiness().Status == "degraded" })
	})
	must(t, os.Remove(ballast))
	if restart != nil {
		restart()
	}
	eventually(t, 10*time.Second, "creates work again", func() bool { return create().StatusCode == http.StatusCreated })
	c.awaitWell(10 * time.Second)
	known.check(c.nodes[0].categories(key))
	if v := known.verdict(); v != (verdict{}) {
		t.Error(v)
	}
	acked, _ := known.acknowledged()
	t.Logf("%d creates sent, %d acknowledged", sent, acked)
	c.mustStop()
}
