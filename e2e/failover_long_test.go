//go:build long && linux

package e2e

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/petcat-api/petcat/internal/pgtest"
)

// patroni is a PostgreSQL primary with a synchronous standby, which Patroni promotes.
type patroni struct {
	t       *testing.T
	dir     string
	user    *syscall.Credential // nil: the user who runs the test
	members map[string]*member  // by name
}

// member is a PostgreSQL with its Patroni.
type member struct {
	name          string
	rest, address string // of Patroni and of PostgreSQL
	process       *exec.Cmd
}

// newPatroni starts the members, and returns when there is a standby.
func newPatroni(t *testing.T) *patroni {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "petcat-patroni-") // the path of a socket may have 107 bytes
	must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	p := &patroni{t: t, dir: dir, members: map[string]*member{}}
	if os.Getuid() == 0 { // PostgreSQL does not run as root
		u, err := user.Lookup("postgres")
		must(t, err)
		uid, err := strconv.Atoi(u.Uid)
		must(t, err)
		gid, err := strconv.Atoi(u.Gid)
		must(t, err)
		p.user = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
		must(t, os.Chown(dir, uid, gid))
	}
	etcd, peers := freeAddress(t), "http://"+freeAddress(t)
	p.start("etcd", "etcd",
		"--data-dir", filepath.Join(dir, "etcd-data"),
		"--listen-client-urls", "http://"+etcd,
		"--advertise-client-urls", "http://"+etcd,
		"--listen-peer-urls", peers,
		"--initial-advertise-peer-urls", peers,
		"--initial-cluster", "default="+peers)
	programs, err := filepath.Glob("/usr/lib/postgresql/*/bin")
	must(t, err)
	if len(programs) == 0 {
		t.Fatal("there is no PostgreSQL in /usr/lib/postgresql (Debian)")
	}
	for _, name := range []string{"a", "b"} {
		m := &member{name: name, rest: freeAddress(t), address: freeAddress(t)}
		p.members[name] = m
		programs := programs[len(programs)-1]
		settings := fmt.Sprintf(
			patroniSettings, name, m.rest, etcd, m.address, filepath.Join(dir, name), programs, dir)
		must(t, os.WriteFile(filepath.Join(dir, name+".yml"), []byte(settings), 0o644))
		p.join(m)
	}
	t.Cleanup(func() {
		for _, m := range p.members {
			p.kill(m)
		}
	})
	p.await("sync_standby")
	return p
}

// Patroni's shortest timeouts. It promotes the standby 20 s after the last sign of the leader.
const patroniSettings = `
scope: petcat
name: %[1]s
restapi: {listen: "%[2]s", connect_address: "%[2]s"}
etcd3: {host: "%[3]s"}
bootstrap:
  dcs:
    ttl: 20
    loop_wait: 2
    retry_timeout: 5
    synchronous_mode: true
    postgresql:
      use_pg_rewind: true
      parameters: {max_connections: 200, wal_log_hints: "on"}
  initdb: [{encoding: UTF8}, {locale: C}, {auth: trust}]
postgresql:
  listen: "%[4]s"
  connect_address: "%[4]s"
  data_dir: "%[5]s"
  bin_dir: "%[6]s"
  pgpass: "%[5]s.pgpass"
  authentication: {superuser: {username: postgres}, replication: {username: postgres}}
  pg_hba: ["local all all trust", "host all all 127.0.0.1/32 trust", "host replication all 127.0.0.1/32 trust"]
  parameters: {unix_socket_directories: "%[7]s"}
`

// freeAddress returns an unused address.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}

// start starts a program with a log file in the directory.
func (p *patroni) start(log string, args ...string) *exec.Cmd {
	p.t.Helper()
	file, err := os.OpenFile(filepath.Join(p.dir, log+".log"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	must(p.t, err)
	defer func() { _ = file.Close() }()
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = p.dir, file, file
	// SIGTERM, so that Patroni stops its PostgreSQL.
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: p.user, Pdeathsig: syscall.SIGTERM}
	must(p.t, cmd.Start())
	p.t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if text, err := os.ReadFile(file.Name()); err == nil && p.t.Failed() {
			p.t.Logf("end of the log of %s:\n%s", log, text[max(0, len(text)-4000):])
		}
	})
	return cmd
}

// join starts a member, also after it was killed.
func (p *patroni) join(m *member) {
	p.t.Helper()
	m.process = p.start(m.name, "patroni", filepath.Join(p.dir, m.name+".yml"))
}

// kill kills a member, like a power cut.
func (p *patroni) kill(m *member) {
	_ = m.process.Process.Kill()
	_ = m.process.Wait()
	file := filepath.Join(p.dir, m.name, "postmaster.pid")
	text, err := os.ReadFile(file)
	if err != nil {
		return // it is not running
	}
	first, _, _ := strings.Cut(string(text), "\n")
	if pid, err := strconv.Atoi(first); err == nil {
		pgtest.KillServer(pid)
	}
	_ = os.Remove(file) // another process may get the same id
}

// with returns the member with a role, nil if it is unknown.
func (p *patroni) with(role string) *member {
	for _, m := range p.members {
		a, err := try(http.DefaultClient, http.MethodGet, "http://"+m.rest+"/cluster", nil)
		if err != nil {
			continue
		}
		var cluster struct{ Members []struct{ Name, Role string } }
		if err := json.Unmarshal(a.body, &cluster); err != nil {
			continue
		}
		for _, of := range cluster.Members {
			if of.Role == role {
				return p.members[of.Name]
			}
		}
	}
	return nil
}

// await waits until a member has a role.
func (p *patroni) await(role string) (m *member) {
	p.t.Helper()
	within(p.t, "a member is "+role, func() bool { m = p.with(role); return m != nil })
	return m
}

// within polls until a condition holds, for two minutes. A failover takes less.
func within(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); !holds(); <-time.After(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("timeout after two minutes: %s", what)
		}
	}
}

// TestFailover kills the leader of two PostgreSQL PETCAT_FAILOVERS times under load. Patroni
// promotes the synchronous standby, all nodes exit with 75 and are restarted, and the old leader
// becomes the standby. No acknowledged write is lost, lists without Age are fresh, limits keep their
// bounds, and the usage history has every allowed request, or a gap.
func TestFailover(t *testing.T) {
	p := newPatroni(t)
	hosts := p.members["a"].address + "," + p.members["b"].address
	x := newTorture(t, "postgres://postgres@"+hosts+"/postgres?sslmode=disable", 3)
	x.during(func() {
		for range int(envNumber(t, "PETCAT_FAILOVERS", 3)) {
			before := x.known.size()
			eventually(t, "creates are acknowledged", func() bool { return x.known.size() > before+100 })
			old, standby := p.await("leader"), p.await("sync_standby")
			end := x.begin(fault{database: true})
			killed := time.Now()
			p.kill(old)
			within(t, "the standby is promoted", func() bool { m := p.with("leader"); return m == standby })
			promoted := time.Now()
			for range x.nodes {
				n := x.nodes[0]
				within(t, "a node ends", func() bool {
					select {
					case <-n.exited:
						return true
					default:
						return false
					}
				})
				if n.code != exitTryLater {
					t.Errorf("a node exited with %d: %q", n.code, n.sentences())
				}
				t.Logf("a node exited %.1f s after the promotion", time.Since(promoted).Seconds())
				x.replace(0)
			}
			x.heal()
			before = x.known.size()
			eventually(t, "creates are acknowledged again", func() bool { return x.known.size() > before })
			took, back := promoted.Sub(killed).Seconds(), time.Since(killed).Seconds()
			t.Logf("%s promoted after %.1f s, recovered after %.1f s", standby.name, took, back)
			end()
			p.join(old)
			within(t, "the old leader is the standby", func() bool { m := p.with("sync_standby"); return m == old })
		}
	})
	type history struct {
		Total struct{ Requests int }
		Gaps  []struct{ From string }
	}
	for i, a := range x.small {
		h := petcatJSON[history](t, x.place, "usage", fmt.Sprint("small ", i))
		allowed, unknown := 0, a.spends.unknown
		for _, n := range a.spends.allowed {
			allowed += n
		}
		if len(h.Gaps) == 0 && h.Total.Requests < allowed || h.Total.Requests > allowed+unknown {
			t.Errorf("the usage history has %d requests of %d, and %d of unknown outcome", h.Total.Requests, allowed, unknown)
		}
		t.Logf("%d requests allowed, %d of unknown outcome", allowed, unknown)
		t.Logf("the usage history has %d, and %d gaps", h.Total.Requests, len(h.Gaps))
	}
}
