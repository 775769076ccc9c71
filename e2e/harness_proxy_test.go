package e2e

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// publicName is the name of the service in the configurations that we ship.
const publicName = "api.example.com"

// shipped returns the text of a file of deploy/ in which some texts, each of which it must
// have once, are replaced: a text, what replaces it, the next text, and so on.
func shipped(t *testing.T, file string, replacements ...string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "deploy", file))
	must(t, err)
	for pair := range slices.Chunk(replacements, 2) {
		if count := strings.Count(string(data), pair[0]); count != 1 {
			t.Fatalf("deploy/%s has %q %d times; this test replaces it, and expects it once", file, pair[0], count)
		}
	}
	return strings.NewReplacer(replacements...).Replace(string(data))
}

// settingsIn returns the settings that a file of deploy/ tells to give petcat.
func settingsIn(t *testing.T, file string) (variables []string) {
	t.Helper()
	for _, line := range regexp.MustCompile(`(?m)^#   (PETCAT_\w+=\S+)$`).FindAllStringSubmatch(shipped(t, file), -1) {
		variables = append(variables, line[1])
	}
	if len(variables) == 0 {
		t.Fatalf("deploy/%s does not say how petcat is to be set", file)
	}
	return variables
}

// startProxy starts a proxy that listens at an address, and returns a server by which its
// answers are checked.
func startProxy(t *testing.T, cmd *exec.Cmd, address string) *server {
	t.Helper()
	s := newServer(t, "")
	s.api = "http://" + address
	cmd.SysProcAttr = diesWithTest()
	s.launch(cmd)
	eventually(t, 10*time.Second, "the proxy listens", func() bool {
		select {
		case <-s.ended:
			t.Fatalf("the proxy ended with %d instead: %s%s", s.code, s.stdout, s.log)
		default:
		}
		conn, err := net.Dial("tcp", address)
		if err != nil {
			return false
		}
		return conn.Close() == nil
	})
	return s
}

// upstream is where a proxy finds a node: host and port of its listeners.
type upstream struct{ api, admin string }

func (s *server) upstream() upstream {
	where := s.where()
	return upstream{api: where[1], admin: where[3]}
}

func (u upstream) adminPort() string { return u.admin[strings.LastIndexByte(u.admin, ':')+1:] }

// front is a proxy that runs with a configuration that we ship.
type front struct {
	*server        // by which its answers are checked
	listen  string // host and port
	clear   string // the same for requests without TLS that must not be; "": nowhere
	// certFile has the proxy's certificate; "": it does not speak TLS.
	certFile  string
	protocols []string // HTTP/2 is "h2"
}

// transport reaches the front from an address of this machine. It speaks a protocol, which
// without TLS is HTTP/1.1.
func (f *front) transport(from, protocol string) *http.Transport {
	f.t.Helper()
	base := &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 100}
	if f.certFile != "" {
		base = trustingTransport(f.t, f.certFile, protocol)
	}
	dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
	base.DialContext = func(ctx context.Context, network, _ string) (net.Conn, error) {
		return dialer.DialContext(ctx, network, f.listen)
	}
	f.t.Cleanup(base.CloseIdleConnections)
	return base
}

// as returns the front for a client at an address of this machine.
func (f *front) as(from, protocol string) *server {
	f.t.Helper()
	return &server{t: f.t, api: f.api, client: checking(f.t, f.transport(from, protocol))}
}

// unchecked returns the front for answers that may be the proxy's own.
func (f *front) unchecked(protocol string) *server {
	f.t.Helper()
	return &server{t: f.t, api: f.api, client: &http.Client{Transport: f.transport("127.0.0.1", protocol), Timeout: 30 * time.Second}}
}

// wantOnlyHTTP1 begins with HTTP/2, which was not offered.
func (f *front) wantOnlyHTTP1() {
	f.t.Helper()
	conn, err := net.Dial("tcp", f.listen)
	must(f.t, err)
	if f.certFile != "" {
		config := trustingTransport(f.t, f.certFile, "http/1.1").TLSClientConfig
		config.ServerName = publicName
		conn = tls.Client(conn, config)
	}
	defer func() { _ = conn.Close() }()
	must(f.t, conn.SetDeadline(time.Now().Add(15*time.Second)))
	_, err = io.WriteString(conn, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
	must(f.t, err)
	response, err := io.ReadAll(conn)
	if err != nil || !strings.HasPrefix(string(response), "HTTP/1.") {
		f.t.Errorf("it answers %.100q (%v); want HTTP/1.1", response, err)
	}
}
