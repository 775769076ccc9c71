package e2e

import (
	"database/sql"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"petcat"
)

// freeAddress returns an address on the loopback on which nobody listens.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer l.Close()
	return l.Addr().String()
}

// lockData keeps a database locked until it is told to stop.
func lockData(t *testing.T, data string) (release func()) {
	t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(data, "petcat.db"))
	must(t, err)
	t.Cleanup(func() { _ = db.Close() })
	db.SetMaxOpenConns(1)
	_, err = db.ExecContext(t.Context(), "BEGIN IMMEDIATE")
	must(t, err)
	return func() {
		_, err := db.ExecContext(t.Context(), "ROLLBACK")
		must(t, err)
		must(t, db.Close())
	}
}

// A node whose data is being read says so, on both listeners, at once.
func TestStartingNodeAnswers(t *testing.T) {
	t.Parallel()
	data := filepath.Join(t.TempDir(), "data")
	// A start that has tables to make waits for whoever writes to the file.
	must(t, os.Mkdir(data, 0o700))
	must(t, os.WriteFile(filepath.Join(data, "petcat.db"), nil, 0o600))
	key := wrongKey(t)
	release := lockData(t, data)
	api, admin := freeAddress(t), freeAddress(t)
	s := launchProcess(t, data, serveFlags("serve", data, []string{"--listen", api, "--admin-listen", admin})...)
	s.api, s.admin = "http://"+api, "http://"+admin

	eventually(t, 3*time.Second, "it is alive", func() bool {
		status, _, err := ask(s.admin + "/livez")
		return err == nil && status == http.StatusOK
	})
	if status, body := s.ask("/readyz"); status != http.StatusServiceUnavailable || !strings.Contains(body, `"status":"starting"`) {
		t.Errorf("/readyz: %d %s", status, body)
	}
	if ready := s.metric("petcat_ready"); ready != 0 {
		t.Errorf("petcat_ready is %v", ready)
	}
	for name, a := range map[string]*answer{
		"list": s.list(key), "create": s.create(key, "dog"), "nobody": s.do(http.MethodGet, "/v1/none", ""),
	} {
		wantError(t, a, http.StatusServiceUnavailable, petcat.CodeServiceUnavailable)
		if a.number(t, "Retry-After") < 1 {
			t.Errorf("%s: Retry-After is %q", name, a.Header.Get("Retry-After"))
		}
	}
	wantStatus(t, s.do(http.MethodGet, "/openapi.json", ""), http.StatusOK)
	wantStatus(t, s.do(http.MethodGet, "/livez", ""), http.StatusOK)

	release()
	s.awaitReady()
	s.mustCreate(newCaller(t, data), "dog")
	if status, _ := s.ask("/readyz"); status != http.StatusOK {
		t.Errorf("/readyz answers %d when it is ready", status)
	}
	if ready := s.metric("petcat_ready"); ready != 1 {
		t.Errorf("petcat_ready is %v", ready)
	}
	s.mustStop()
	if log := s.log.String(); strings.Contains(log, `"level":"ERROR"`) {
		t.Errorf("a start is logged as a failure: %s", log)
	}
}

// The admin listener of this machine answers to this machine's names alone.
func TestAdminAnswersToNamesOfThisMachine(t *testing.T) {
	t.Parallel()
	s := serve(t, filepath.Join(t.TempDir(), "data"))
	_, port, err := net.SplitHostPort(strings.TrimPrefix(s.admin, "http://"))
	must(t, err)
	for host, want := range map[string]int{
		"127.0.0.1:" + port: http.StatusOK, "localhost:" + port: http.StatusOK, "LOCALHOST": http.StatusOK,
		"[::1]:" + port: http.StatusOK, "[::1]": http.StatusOK, "10.1.2.3": http.StatusOK,
		"attacker.example": http.StatusForbidden, "attacker.example:" + port: http.StatusForbidden, "localhost.attacker.example": http.StatusForbidden,
		"127.0.0.1.attacker.example": http.StatusForbidden,
	} {
		for _, path := range []string{"/metrics", "/readyz", "/livez"} {
			a, err := (&server{client: newListClient(t)}).try(http.MethodGet, s.admin+path, nil, func(r *http.Request) { r.Host = host })
			must(t, err)
			if a.StatusCode != want {
				t.Errorf("%s by the name %s: %d, want %d", path, host, a.StatusCode, want)
			}
			if want == http.StatusForbidden && a.code() != "forbidden" {
				t.Errorf("%s", a.body)
			}
		}
	}
	// By HTTP/1.0 there need not be a name, as in the checks of some proxies.
	conn, err := net.Dial("tcp", "127.0.0.1:"+port)
	must(t, err)
	defer conn.Close()
	_, err = conn.Write([]byte("GET /readyz HTTP/1.0\r\n\r\n"))
	must(t, err)
	status := make([]byte, len("HTTP/1.0 200"))
	_, err = conn.Read(status)
	must(t, err)
	if string(status) != "HTTP/1.0 200" {
		t.Errorf("without a name: %s", status)
	}
	// One that others may reach has whatever names they have for it.
	open := serve(t, filepath.Join(t.TempDir(), "data"), "--admin-listen", "0.0.0.0:0", "--admin-allow-plaintext")
	a, err := (&server{client: newListClient(t)}).try(http.MethodGet, open.admin+"/readyz", nil, func(r *http.Request) { r.Host = "petcat-0.petcat.svc" })
	must(t, err)
	wantStatus(t, a, http.StatusOK)
}
