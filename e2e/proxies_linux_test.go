package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"petcat/internal/tooltest"
)

// proxyWithTLS is a configuration of a proxy with TLS that we ship.
type proxyWithTLS struct {
	name, file string // the file is in deploy/
	// command returns the proxy with the file, of which it changes only places.
	command   func(*testing.T, places) *exec.Cmd
	protocols []string // the one that its clients prefer is the first
	silent    bool     // whether a create gets no response when the node gave none
	clear     bool     // whether it answers those who do not speak TLS
	headers   bool     // whether it leaves it to petcat to refuse too many
}

// places are what a test changes in a file.
type places struct {
	dir               string // for what the proxy writes
	listen, clear     string // host and port with TLS, and without
	certFile, keyFile string
	nodes             []upstream // one, but for haproxy
}

var proxiesWithTLS = []proxyWithTLS{
	{"nginx", "proxy/nginx.conf", nginxWithTLS, []string{"h2", "http/1.1"}, false, true, true},
	{"Caddy", "proxy/Caddyfile", caddyWithTLS, []string{"h2", "http/1.1"}, false, true, false},
	{"haproxy", "proxy/haproxy.cfg", haproxyWithTLS, []string{"http/1.1"}, true, false, false},
}

// nginxFrame stands for the nginx.conf of a system, some of which compress what they pass
// on. One process ends with the test.
const nginxFrame = `daemon off;
master_process off;
pid nginx.pid;
events {}
http {
	access_log off;
	gzip on;
	gzip_types application/json;
	gzip_proxied any;
	client_body_temp_path body;
	proxy_temp_path proxy;
	fastcgi_temp_path fastcgi;
	uwsgi_temp_path uwsgi;
	scgi_temp_path scgi;
	include petcat.conf;
}
`

func nginxWithTLS(t *testing.T, at places) *exec.Cmd {
	t.Helper()
	text := shipped(t, "proxy/nginx.conf",
		"    server 127.0.0.1:8080 ", "    server "+at.nodes[0].api+" ",
		"    listen 443 ssl", "    listen "+at.listen+" ssl",
		"    listen [::]:443 ssl http2;\n", "", // not every machine has IPv6
		"    listen 80;", "    listen "+at.clear+";",
		"    listen [::]:80;\n", "",
		"/etc/ssl/petcat/fullchain.pem", at.certFile,
		"/etc/ssl/petcat/privkey.pem", at.keyFile,
	)
	must(t, os.WriteFile(filepath.Join(at.dir, "petcat.conf"), []byte(text), 0o600))
	must(t, os.WriteFile(filepath.Join(at.dir, "nginx.conf"), []byte(nginxFrame), 0o600))
	return exec.Command(tooltest.Find(t, "nginx", "nginx"), "-e", "stderr", "-p", at.dir, "-c", "nginx.conf")
}

func caddyWithTLS(t *testing.T, at places) *exec.Cmd {
	t.Helper()
	port := func(address string) string { return address[strings.LastIndexByte(address, ':')+1:] }
	text := shipped(t, "proxy/Caddyfile",
		"{\n\tservers {", fmt.Sprintf("{\n\tadmin off\n\tdefault_bind 127.0.0.1\n\thttps_port %s\n\thttp_port %s\n\tservers {", port(at.listen), port(at.clear)),
		"\n"+publicName+" {\n", fmt.Sprintf("\n%s {\n\ttls %s %s\n", publicName, at.certFile, at.keyFile),
		"reverse_proxy 127.0.0.1:8080 ", "reverse_proxy "+at.nodes[0].api+" ",
		"health_port 8081\n", "health_port "+port(at.nodes[0].admin)+"\n",
	)
	cmd := exec.Command(tooltest.Find(t, "caddy", "caddy"), "run", "--adapter", "caddyfile", "--config", writeText(t, "Caddyfile", text))
	cmd.Env = []string{"HOME=" + at.dir} // it keeps certificates there
	return cmd
}

func haproxyWithTLS(t *testing.T, at places) *exec.Cmd {
	t.Helper()
	var pair []byte
	for _, file := range []string{at.certFile, at.keyFile} {
		text, err := os.ReadFile(file)
		must(t, err)
		pair = append(pair, text...)
	}
	pairFile := filepath.Join(at.dir, "petcat.pem")
	must(t, os.WriteFile(pairFile, pair, 0o600))
	// As many lines as there are nodes, as the file says.
	const server = "    server petcat 127.0.0.1:8080 check port 8081 inter 300ms fall 2 rise 2\n"
	var servers strings.Builder
	for i, node := range at.nodes {
		name := fmt.Sprintf("petcat-%d ", i+1)
		servers.WriteString(strings.NewReplacer("petcat ", name, "127.0.0.1:8080", node.api, "8081", node.adminPort()).Replace(server))
	}
	return haproxyOf(t, shipped(t, "proxy/haproxy.cfg",
		"    log /dev/log local0 notice\n", "    log stdout format raw local0 notice\n",
		"    user haproxy\n    group haproxy\n", "",
		haproxyConnections, fewConnections,
		"bind :443 ssl", "bind "+at.listen+" ssl",
		"/etc/haproxy/petcat.pem", pairFile,
		server, servers.String(),
	))
}

// Each connection needs two open files, and a shell's limit may be low.
const haproxyConnections, fewConnections = "    maxconn 20000\n", "    maxconn 1000\n"

func haproxyOf(t *testing.T, text string) *exec.Cmd {
	t.Helper()
	return exec.Command(tooltest.Find(t, "haproxy", "haproxy"), "-db", "-f", writeText(t, "haproxy.cfg", text))
}

// start starts the proxy in front of nodes.
func (p proxyWithTLS) start(t *testing.T, nodes ...upstream) *front {
	t.Helper()
	at := places{dir: t.TempDir(), listen: freeAddress(t), clear: freeAddress(t), nodes: nodes}
	at.certFile, at.keyFile = writeCertificate(t, at.dir, "proxy")
	f := &front{server: startProxy(t, p.command(t, at), at.listen), listen: at.listen, clear: at.clear, certFile: at.certFile, protocols: p.protocols}
	f.api = "https://" + publicName
	f.client = checking(t, f.transport("127.0.0.1", p.protocols[0]))
	return f
}

// serveBehind starts a node with the settings that the file names.
func (p proxyWithTLS) serveBehind(t *testing.T, data string, flags ...string) *server {
	t.Helper()
	s := newServer(t, data)
	cmd := processOf(serveFlags("serve", data, flags)...)
	cmd.Env = append(cmd.Env, settingsIn(t, p.file)...)
	s.launch(cmd)
	s.awaitReady()
	return s
}

// webPages are those that may use the API, see "CORS" in docs/operations.md.
const webPages = "https://app.example.org"

// TestProxies runs each configuration with TLS that we ship, with the program that it is
// for, in front of a node that has the settings which the file names.
func TestProxies(t *testing.T) {
	t.Parallel()
	tooltest.NeedServer(t)
	long := filepath.Join(t.TempDir(), "data")
	petcatDoes(t, long, "restore", manyRows(t, 30_000))
	library, reader := serve(t, long), newCaller(t, long)
	for _, p := range proxiesWithTLS {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			data := filepath.Join(t.TempDir(), "data")
			key := newCaller(t, data)
			node := p.serveBehind(t, data, "--cors-origins", webPages)
			f := p.start(t, node.upstream())
			f.wantCallersApart(node)
			f.wantAnswers(node, key)
			f.wantBodies(node, key)
			f.wantHeaders(key, p.headers)
			f.wantTLS(p.clear)
			p.start(t, library.upstream()).wantSameList(library, reader)
			p.wantNothingTwice(t, node, key)
			p.wantNodeAway(t, f, node, key)
		})
	}
}
