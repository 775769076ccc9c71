package server

import (
	"context"
	_ "embed" // configurations
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/template"
)

// Static is an answer that a server without a program of ours is to give: a
// list, to whoever shows one of the keys.
type Static struct {
	Program string
	Dir     string
	Header  []string // "Name: value"; without Content-Type and Content-Length
	Body    string   // file
	Key     string
	// KeepOpen makes nginx keep the file open between requests, which it does
	// not do by itself.
	KeepOpen bool

	// For the configurations.
	Address string
	Root    bool // then nginx's workers are to read files of ours
}

// Cut splits a header's line.
func (Static) Cut(line string) (parts [2]string) {
	parts[0], parts[1], _ = strings.Cut(line, ": ")
	return parts
}

// Format quotes a header's value for haproxy: a percent sign would begin a
// variable.
func (Static) Format(value string) string {
	return strings.NewReplacer(`\`, `\\`, `"`, `\"`, `%`, `%%`).Replace(value)
}

// nginxConfig is how nginx is made to do as much of petcat's work as it can:
// keys, a limit for each, and an access log that is buffered as petcat's is.
//
//go:embed nginx.conf.tmpl
var nginxConfig string

// haproxyConfig: as for nginx, but without an access log, which haproxy cannot
// write to a file itself.
//
//go:embed haproxy.cfg.tmpl
var haproxyConfig string

// Nginx starts nginx.
func Nginx(ctx context.Context, s Static) (*Server, error) {
	name := "nginx"
	if s.KeepOpen {
		name = "nginx-cached"
	}
	return s.start(ctx, name, nginxConfig, func(dir, config string) []string {
		return []string{"-c", config, "-p", dir, "-e", filepath.Join(dir, "error.log")}
	})
}

// Haproxy starts haproxy.
func Haproxy(ctx context.Context, s Static) (*Server, error) {
	return s.start(ctx, "haproxy", haproxyConfig, func(_, config string) []string { return []string{"-db", "-q", "-f", config} })
}

func (s Static) start(ctx context.Context, name, config string, args func(dir, config string) []string) (_ *Server, err error) {
	s.Dir, s.Root = filepath.Join(s.Dir, name), os.Geteuid() == 0
	if s.Address, err = freeAddress(ctx); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(s.Dir, 0o700); err != nil {
		return nil, err
	}
	var text strings.Builder
	if err := template.Must(template.New(name).Parse(config)).Execute(&text, s); err != nil {
		return nil, err
	}
	file := filepath.Join(s.Dir, name+".conf")
	if err := os.WriteFile(file, []byte(text.String()), 0o600); err != nil {
		return nil, err
	}
	return program{name: name, dir: s.Dir, path: s.Program, args: args(s.Dir, file)}.start(ctx, "http://"+s.Address)
}

// Bare starts the server that does nothing but write an answer.
func Bare(ctx context.Context, path, dir string, answer Files) (*Server, error) {
	address, err := freeAddress(ctx)
	if err != nil {
		return nil, err
	}
	return program{name: "bare", dir: dir, path: path, args: []string{
		"-listen", address,
		"-list-header", answer.ListHeader, "-list-body", answer.ListBody,
		"-create-header", answer.CreateHeader, "-create-body", answer.CreateBody,
	}}.start(ctx, "http://"+address)
}

// Files hold petcat's own answers: headers as lines, and bodies.
type Files struct {
	ListHeader, ListBody, CreateHeader, CreateBody string
}

// Proxy starts haproxy with the configuration for three nodes on one machine that
// petcat comes with.
func Proxy(ctx context.Context, path, config, dir, name string, nodes [3]*Server) (*Server, error) {
	address, err := freeAddress(ctx)
	if err != nil {
		return nil, err
	}
	env := []string{"API_PORT=" + portOf(address)}
	for i, node := range nodes {
		env = append(env, fmt.Sprintf("NODE_%d=%s", i+1, portOf(node.URL)), fmt.Sprintf("ADMIN_%d=%s", i+1, portOf(node.Admin)))
	}
	url := "http://" + address
	// Without a key a node says 401; without a node haproxy says 503.
	ready := func() bool { return status(ctx, url+"/v1/categories") == 401 }
	return program{name: name, dir: dir, path: path, args: []string{"-db", "-q", "-f", config}, env: env, ready: ready}.start(ctx, url)
}
