package e2e

import (
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"petcat/internal/stalltest"
)

// TestTLSOfTheAdminListener: where other machines can reach it, it shows the certificate as
// the API does, and cuts off a handshake that stalls. petcat health asks the node on its own
// machine, by a name that no certificate is for, so it tells how the node is, whatever is
// wrong with the certificate.
func TestTLSOfTheAdminListener(t *testing.T) {
	t.Parallel()
	for _, c := range badCertificates {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			certFile, keyFile := writeCertificateFor(t, t.TempDir(), c.name, c.address, time.Now().Add(c.until))
			s := serve(t, filepath.Join(t.TempDir(), "data"), "--tls-cert", certFile, "--tls-key", keyFile, "--admin-listen", "0.0.0.0:0")
			port := s.admin[strings.LastIndexByte(s.admin, ':'):]
			if c.stalls {
				wantCutOff(t, "127.0.0.1"+port, 10*time.Second)
			} else {
				c.wantSeen(t, "127.0.0.1"+port, certFile)
			}
			at := []string{"PETCAT_TLS_CERT=" + certFile, "PETCAT_TLS_KEY=" + keyFile, "PETCAT_ADMIN_LISTEN=" + port}
			if code, stdout, stderr := askHealth(t, at); code != exitDone || !strings.HasPrefix(stdout, "status   ready\n") {
				t.Errorf("petcat health: %d %q %q", code, stdout, stderr)
			}
		})
	}
}

// TestHealthOfAStalledHandshake: who asks does not wait for long.
func TestHealthOfAStalledHandshake(t *testing.T) {
	t.Parallel()
	certFile, keyFile := writeCertificate(t, t.TempDir(), "node")
	stalls := badCertificate{name: "it", address: net.IPv4(127, 0, 0, 1), until: time.Hour, stalls: true}
	front := newTLSFront(t, "", false, stalls.issue(t)).address
	at := []string{"PETCAT_TLS_CERT=" + certFile, "PETCAT_TLS_KEY=" + keyFile, "PETCAT_ADMIN_LISTEN=" + front[strings.LastIndexByte(front, ':'):]}
	stalltest.Start(t).InTime("petcat health", 3*time.Second, func() time.Duration { // 2 s, and the program's own start
		began := time.Now()
		code, _, stderr := askHealth(t, at)
		took := time.Since(began)
		if code != exitFailed {
			t.Errorf("it ended with %d", code)
		}
		wantOneSentence(t, strings.Split(strings.TrimSpace(stderr), "\n"), "no node responds at https://localhost:", "no answer within 2s")
		return took
	})
}

// TestTLSOfCategoryCommands: a service whose certificate is not good is not told the key,
// and one sentence says why.
func TestTLSOfCategoryCommands(t *testing.T) {
	t.Parallel()
	s := serve(t, filepath.Join(t.TempDir(), "data"))
	key := newCaller(t, s.data)
	s.mustCreate(key, "dog")
	for _, c := range badCertificates {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			shows := c.issue(t)
			front := newTLSFront(t, strings.TrimPrefix(s.api, "http://"), false, shows).address
			var stdout, stderr *strings.Builder
			var code int
			// What is not trusted is not tried again. A handshake has 10 s, three times, with
			// 1.5 s of delays.
			limit := time.Second
			if c.stalls {
				limit = 33 * time.Second
			}
			stalltest.Start(t).InTime("petcat category list", limit, func() time.Duration {
				stdout, stderr = &strings.Builder{}, &strings.Builder{}
				began := time.Now()
				code = execute(t, []string{"category", "list"}, []string{"PETCAT_URL=https://" + front, "PETCAT_API_KEY=" + key, "SSL_CERT_FILE=" + shows.certFile}, nil, stdout, stderr)
				return time.Since(began)
			})
			if c.says == "" {
				if code != exitDone || !strings.Contains(stdout.String(), "dog") {
					t.Errorf("it ended with %d: %q %q", code, stdout, stderr)
				}
				return
			}
			says := []string{"shows a certificate that is not accepted", c.says}
			if c.stalls {
				says = []string{"no service answers at", "TLS handshake timeout"}
			}
			if code != exitTryLater || stdout.Len() > 0 {
				t.Errorf("it ended with %d and printed %q", code, stdout)
			}
			wantOneSentence(t, strings.Split(strings.TrimSpace(stderr.String()), "\n"), append(says, "https://"+front)...)
		})
	}
}
