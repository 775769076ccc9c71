package e2e

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// askHealth asks a node how it is, as a container's check does, and returns the
// exit code and both streams.
func askHealth(t *testing.T, variables []string, flags ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, said strings.Builder
	code = execute(t, append([]string{"health"}, flags...), variables, nil, &out, &said)
	return code, out.String(), said.String()
}

func TestHealth(t *testing.T) {
	s := serve(t, filepath.Join(t.TempDir(), "data"))
	at := []string{"PETCAT_ADMIN_LISTEN=" + strings.TrimPrefix(s.admin, "http://")}

	code, stdout, stderr := askHealth(t, at)
	if want := "status   ready\nkeyring  ok\nlimiter  ok\nstore    ok\n"; code != exitDone || stdout != want || stderr != "" {
		t.Errorf("a ready node: %d %q %q", code, stdout, stderr)
	}
	code, stdout, _ = askHealth(t, at, "--json")
	var r readiness
	if err := json.Unmarshal([]byte(stdout), &r); code != exitDone || err != nil || r.Status != "ready" || r.Checks["store"] != "ok" {
		t.Errorf("as JSON: %d %q", code, stdout)
	}

	s.mustStop()
	code, stdout, stderr = askHealth(t, at)
	if code != exitFailed || stdout != "" || !strings.Contains(stderr, "no node responds") {
		t.Errorf("a node that has stopped: %d %q %q", code, stdout, stderr)
	}
}

// TestConfigOfTheRunningNode: the node has settings that the shell does not have.
func TestConfigOfTheRunningNode(t *testing.T) {
	s := serve(t, filepath.Join(t.TempDir(), "data"), "--bans", "shadow")
	flags := []string{"config", "--running", "--admin-listen", strings.TrimPrefix(s.admin, "http://")}
	out := mustRun(t, flags...)
	for _, line := range []string{
		`(?m)^--bans +PETCAT_BANS +shadow +flag --bans$`, `(?m)^--log-level +PETCAT_LOG_LEVEL +info +default$`, `(?m)^--tls-cert +PETCAT_TLS_CERT +\(off\) +default$`,
	} {
		if !regexp.MustCompile(line).MatchString(out) {
			t.Errorf("%s is not in\n%s", line, out)
		}
	}
	var documents []struct{ Flag, Value string }
	must(t, json.Unmarshal([]byte(mustRun(t, append(flags, "--json")...)), &documents))
	if len(documents) == 0 || documents[0].Flag != "--data" || documents[0].Value != s.data {
		t.Errorf("as JSON: %+v", documents)
	}
	s.mustStop()
	if code, _, said := petcatRuns(t, flags...); code != exitFailed || !strings.Contains(said, "no node responds") {
		t.Errorf("of a node that has stopped: %d %s", code, said)
	}
}

// TestHealthByTLS: the certificate is for the name that callers use, and the
// node is asked by that of this machine.
func TestHealthByTLS(t *testing.T) {
	certFile, keyFile := writeCertificate(t, t.TempDir(), "api.example.com")
	s := serve(t, filepath.Join(t.TempDir(), "data"), "--tls-cert", certFile, "--tls-key", keyFile, "--admin-listen", "0.0.0.0:0")
	port := s.admin[strings.LastIndexByte(s.admin, ':'):]
	if !strings.HasPrefix(s.admin, "https://") {
		t.Fatalf("the admin listener is at %s; want TLS", s.admin)
	}
	variables := []string{"PETCAT_TLS_CERT=" + certFile, "PETCAT_TLS_KEY=" + keyFile, "PETCAT_ADMIN_LISTEN=" + port}
	if code, stdout, stderr := askHealth(t, variables); code != exitDone {
		t.Errorf("got %d %q %q", code, stdout, stderr)
	}
}

func TestHealthOfWhatIsNotReady(t *testing.T) {
	for _, c := range []struct {
		name           string
		status         int
		body           string
		code           int
		stdout, stderr string
	}{
		{"degraded", http.StatusOK, `{"status":"degraded","checks":{"limiter":"away"}}`, exitDone, "status   degraded\nlimiter  away\n", ""},
		{"draining", http.StatusServiceUnavailable, `{"status":"draining","checks":{"store":"ok"}}`, exitFailed, "status  draining\nstore   ok\n", "the node is draining"},
		{"another program", http.StatusOK, `hello`, exitFailed, "", "not petcat's admin listener"},
	} {
		t.Run(c.name, func(t *testing.T) {
			node := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(c.status)
				_, _ = w.Write([]byte(c.body))
			}))
			defer node.Close()
			code, stdout, stderr := askHealth(t, nil, "--admin-listen", strings.TrimPrefix(node.URL, "http://"))
			if code != c.code || stdout != c.stdout || !strings.Contains(stderr, c.stderr) {
				t.Errorf("got %d %q %q", code, stdout, stderr)
			}
		})
	}
	if code, _, stderr := askHealth(t, nil, "--admin-listen", "127.0.0.1:0"); code != exitConfig || !strings.Contains(stderr, "--admin-listen") {
		t.Errorf("a port that the system chooses: %d %q", code, stderr)
	}
}
