package e2e

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"petcat"
)

// categoriesOnDisk has PostgreSQL keep the categories on a small disk, and returns where
// that is.
func (c *cluster) categoriesOnDisk(bytes int64) (volume string) {
	c.t.Helper()
	volume = filepath.Join(c.postgres.Dir(), "small")
	must(c.t, os.Mkdir(volume, 0o700))
	diskAt(c.t, volume, bytes)
	info, err := os.Stat(c.postgres.Dir()) // whose PostgreSQL is
	must(c.t, err)
	owner := info.Sys().(*syscall.Stat_t)
	must(c.t, os.Chown(volume, int(owner.Uid), int(owner.Gid)))
	c.postgres.Execute(c.t, "postgres", fmt.Sprintf("CREATE TABLESPACE small LOCATION '%s'", volume))
	c.postgres.Execute(c.t, c.database, "ALTER TABLE category SET TABLESPACE small")
	return volume
}

// TestClusterDiskFull: while PostgreSQL has no room, creates are refused, and lists and
// limits go on; when it has, so do creates, and nothing acknowledged is lost.
func TestClusterDiskFull(t *testing.T) {
	t.Parallel()
	c := newClusterApart(t)
	c.start(2)
	key := c.newCaller()
	volume := c.categoriesOnDisk(8 << 20)
	c.remember(key)
	known := newLedger()
	description := strings.Repeat("d", 5_000)
	sent := 0
	create := func() *answer {
		t.Helper()
		sent++
		name := fmt.Sprint("pet ", sent)
		known.send(name)
		a := c.nodes[sent%2].do(http.MethodPost, "/v1/categories", `{"name":"`+name+`","description":"`+description+`"}`, withKey(key))
		if a.StatusCode == http.StatusCreated {
			known.acknowledge(a.category(t))
		}
		return a
	}
	wantStatus(t, create(), http.StatusCreated)
	ballast := fill(t, volume)
	eventually(t, 20*time.Second, "there is no room", func() bool { return create().code() == petcat.CodeServiceUnavailable })
	for range 10 {
		wantError(t, create(), http.StatusServiceUnavailable, petcat.CodeServiceUnavailable)
		for _, s := range c.nodes {
			known.check(s.categories(key))
		}
	}
	eventually(t, 5*time.Second, "it is told", func() bool {
		return c.all(func(s *server) bool { return s.metric("petcat_store_up") == 0 && s.readiness().Status == "degraded" })
	})
	must(t, os.Remove(ballast))
	eventually(t, 10*time.Second, "creates work again", func() bool { return create().StatusCode == http.StatusCreated })
	c.awaitWell(10 * time.Second)
	known.check(c.nodes[0].categories(key))
	if v := known.verdict(); v != (verdict{}) {
		t.Error(v)
	}
	acked, _ := known.acknowledged()
	t.Logf("%d creates sent, %d acknowledged", sent, acked)
	c.mustStop()
	c.postgres.Execute(t, c.database, "ALTER TABLE category SET TABLESPACE pg_default") // the disk goes first
}
