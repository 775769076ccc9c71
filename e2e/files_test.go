package e2e

import (
	"crypto/tls"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// serveWithFiles starts a server that may open so many files.
func serveWithFiles(t *testing.T, data, files string) *server {
	t.Helper()
	s := newServer(t, data)
	cmd := exec.Command("/bin/sh", append([]string{"-c", `ulimit -n "$0" && exec "$@"`, files, programFile}, serveFlags("serve", data, nil)...)...)
	cmd.Env, cmd.SysProcAttr = processOf().Env, diesWithTest()
	s.launch(cmd)
	s.awaitReady()
	return s
}

// With few descriptors and many connections, probes and those who mean well get
// through, and the log says what is the matter.
func TestFewFiles(t *testing.T) {
	t.Parallel()
	data := filepath.Join(t.TempDir(), "data")
	s := serveWithFiles(t, data, "256")
	key := newCaller(t, data)
	silent := flood{say: func(string) []byte { return nil }}
	stop := silent.open(t, s, 600, 30, "") // of 20 addresses
	defer stop()
	hasty := &server{client: &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12}}}}
	s.control().InTime("half of the good calls", 200*time.Millisecond, func() time.Duration {
		var took []time.Duration
		for range 100 {
			begin := time.Now()
			a, err := hasty.try(http.MethodGet, s.api+"/v1/categories", nil, withKey(key))
			must(t, err)
			wantStatus(t, a, http.StatusOK)
			took = append(took, time.Since(begin))
			if status, _ := s.ask("/livez"); status != http.StatusOK {
				t.Errorf("/livez answers %d", status)
			}
		}
		return percentile(took, 50)
	})
	if open := s.metric("petcat_connections"); open > 160 {
		t.Errorf("%v connections are open", open)
	}
	if s.metric("petcat_connections_dropped_total") < 400 || s.metric("petcat_accept_failures_total") != 0 {
		t.Errorf("dropped %v, failed %v", s.metric("petcat_connections_dropped_total"), s.metric("petcat_accept_failures_total"))
	}
	eventually(t, 5*time.Second, "the log tells", func() bool {
		return strings.Contains(s.log.String(), "connections were closed because there were too many")
	})
	if n := strings.Count(s.log.String(), `"level":"WARN"`); n != 1 {
		t.Errorf("%d warnings", n)
	}
	s.mustStop()
}
