package e2e

import (
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// finding is what petcat doctor found.
type finding struct{ Part, Status, Text string }

// examine runs petcat doctor beside a server, or without one, and returns what it found
// and its exit code.
func examine(t *testing.T, args ...string) (found []finding, code int) {
	t.Helper()
	code, stdout, stderr := petcatRuns(t, append([]string{"doctor", "--json"}, args...)...)
	var report struct{ Findings []finding }
	if err := json.Unmarshal([]byte(stdout), &report); err != nil {
		t.Fatalf("petcat doctor ended with %d: %v: %s %s", code, err, stdout, stderr)
	}
	return report.Findings, code
}

// tellsOf checks that there is a finding whose text holds a part.
func tellsOf(t *testing.T, found []finding, part, status, text string) {
	t.Helper()
	for _, f := range found {
		if f.Part == part && f.Status == status && strings.Contains(f.Text, text) {
			return
		}
	}
	t.Errorf("no finding is %s, %s: %s; there are %+v", part, status, text, found)
}

// where are the flags by which a command finds a server's listeners.
func (s *server) where() []string {
	bare := func(url string) string { return url[strings.LastIndexByte(url, '/')+1:] }
	return []string{"--listen", bare(s.api), "--admin-listen", bare(s.admin)}
}

// TestDoctor: beside a server that is well, without one, and of what goes wrong.
func TestDoctor(t *testing.T) {
	t.Parallel()
	data, folder := filepath.Join(t.TempDir(), "data"), filepath.Join(t.TempDir(), "backups")
	certFile, keyFile := writeCertificate(t, t.TempDir(), "api.example.com")
	flags := []string{"--backup-every", "1h", "--backup-dir", folder, "--tls-cert", certFile, "--tls-key", keyFile}
	s := serve(t, data, flags...)
	eventually(t, 10*time.Second, "a backup was made", func() bool { return len(scheduled(t, folder)) == 1 })
	flags = append(append(flags, placeFlags(data)...), s.where()...)

	found, code := examine(t, flags...)
	for part, text := range map[string]string{
		"data": "answers within", "schema": "of this version", "disk": "a sync takes", "node": "it is ready",
		"listeners": "takes connections at 127.0.0.1:", "backups": scheduled(t, folder)[0],
	} {
		tellsOf(t, found, part, "ok", text)
	}
	tellsOf(t, found, "backups", "ok", "GB are left for the backups in "+folder)
	tellsOf(t, found, "certificate", "warning", "renew it")
	if code != exitDone {
		t.Errorf("the exit code is %d", code)
	}

	must(t, os.Rename(scheduled(t, folder)[0], filepath.Join(t.TempDir(), "moved")))
	found, code = examine(t, append(flags, "--public-url", "https://pets.example.org")...)
	tellsOf(t, found, "backups", "problem", "is gone")
	tellsOf(t, found, "certificate", "problem", "it is not for pets.example.org")
	if code != exitFailed {
		t.Errorf("the exit code is %d", code)
	}

	s.mustStop()
	found, _ = examine(t, flags...)
	tellsOf(t, found, "node", "warning", "start one with petcat serve")
	tellsOf(t, found, "listeners", "ok", "are free")
	taken, err := net.Listen("tcp", s.where()[1])
	must(t, err)
	defer taken.Close()
	found, _ = examine(t, append(flags, "--backup-every", "1s")...)
	tellsOf(t, found, "listeners", "problem", "another program already listens on")
	certFile, keyFile = writeCertificateFor(t, t.TempDir(), "api.example.com", net.IPv4(127, 0, 0, 1), time.Now().Add(-time.Hour))
	found, _ = examine(t, append(flags, "--tls-cert", certFile, "--tls-key", keyFile, "--backup-every", "1s")...)
	tellsOf(t, found, "certificate", "problem", "it expired on")
	eventually(t, 10*time.Second, "the last backup is old", func() bool {
		found, _ = examine(t, append(flags, "--backup-every", "1s")...)
		for _, f := range found {
			if f.Part == "backups" && f.Status == "problem" && strings.Contains(f.Text, "old and one is due each 1s") {
				return true
			}
		}
		return false
	})
}

// TestDoctorOnAFullDisk: it says what is wrong while the server says so, too, and since
// when.
func TestDoctorOnAFullDisk(t *testing.T) {
	t.Parallel()
	volume := disk(t, 8<<20)
	data := filepath.Join(volume, "data")
	s := serve(t, data)
	fill(t, volume)
	s.tells("a full disk", "store", false, 5*time.Second)
	backups := disk(t, 8<<20)
	found, code := examine(t, append(placeFlags(data), append(s.where(), "--backup-every", "24h", "--backup-dir", backups)...)...)
	tellsOf(t, found, "disk", "problem", "0.00 GB are left for the data; free some space")
	tellsOf(t, found, "backups", "problem", "0.01 GB are left for the backups in "+backups+"; free some space now: without any, none can be made")
	tellsOf(t, found, "node", "problem", "its store is unhealthy: the database cannot be written; creates fail, since 20")
	if code != exitFailed {
		t.Errorf("the exit code is %d", code)
	}
}

// TestDoctorOfNewerSchema: it says which program the data is for.
func TestDoctorOfNewerSchema(t *testing.T) {
	t.Parallel()
	data := filepath.Join(t.TempDir(), "data")
	petcatDoes(t, data, "init", "--environment", "production")
	alterFile(t, data, newerFile)
	found, code := examine(t, placeFlags(data)...)
	tellsOf(t, found, "schema", "problem", "was written by a newer petcat")
	tellsOf(t, found, "disk", "ok", "GB are left for the data")
	tellsOf(t, found, "disk", "ok", "a sync takes")
	if code != exitFailed {
		t.Errorf("the exit code is %d", code)
	}
}

// TestDoctorOfSeveralNodes: the database, its clock, and the counters.
func TestDoctorOfSeveralNodes(t *testing.T) {
	t.Parallel()
	database := sharedPostgres.Server(t).Database(t)
	s := serve(t, database)
	found, code := examine(t, append(placeFlags(database), s.where()...)...)
	tellsOf(t, found, "database", "ok", "answers within")
	tellsOf(t, found, "clock", "ok", "ahead of the database's")
	tellsOf(t, found, "counters", "ok", "answer")
	tellsOf(t, found, "node", "ok", "it is ready")
	if code != exitDone {
		t.Errorf("the exit code is %d: %+v", code, found)
	}
	found, code = examine(t, append(append(placeFlags(database), s.where()...), "--limiter", "redis://127.0.0.1:1")...)
	tellsOf(t, found, "counters", "problem", "the shared counters cannot be used")
	if code != exitFailed {
		t.Errorf("the exit code is %d", code)
	}
	found, _ = examine(t, "--database", "postgres://petcat@127.0.0.1:1/petcat", "--limiter", "redis://127.0.0.1:1")
	tellsOf(t, found, "counters", "warning", "were not asked, because that needs the database")
}
