package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
)

const (
	path        = "/v1/categories"
	contentType = "Content-Type: application/json"
	unlimited   = "1000000000000" // a quota or a bound that no measurement reaches
)

// deployment is petcat's data, with an account whose quota is never exhausted.
type deployment struct {
	dir    string   // of the data and the log
	place  []string // flags that select the database
	bearer string   // the Authorization header
}

// deploy creates a deployment in a directory, or in PostgreSQL.
func (b *bench) deploy(ctx context.Context, name, database string) (d *deployment, err error) {
	d = &deployment{dir: filepath.Join(b.work, name)}
	d.place = []string{"--data", d.data()}
	if database != "" {
		d.place = []string{"--database", database}
	}
	if err := os.MkdirAll(d.dir, 0o700); err != nil {
		return nil, err
	}
	var key struct{ Key string }
	for _, command := range [][]string{
		{"init"},
		{
			"account", "create", "bench", "--plan", "enterprise",
			"--per-minute", unlimited, "--per-day", unlimited,
			"--max-categories", unlimited, "--max-bytes", unlimited,
		},
		{"key", "create", "bench"},
	} {
		cmd := exec.CommandContext(ctx, b.program("petcat"), slices.Concat(command, d.place, []string{"--json"})...)
		out, err := cmd.Output()
		if err == nil && command[0] == "key" {
			err = json.Unmarshal(out, &key)
		}
		if err != nil {
			return nil, fmt.Errorf("petcat %v: %w: %s", command, err, out)
		}
	}
	d.bearer = "Authorization: Bearer " + key.Key
	return d, nil
}

func (d *deployment) data() string { return filepath.Join(d.dir, "data") }

// node is a running node.
type node struct {
	*process
	*deployment
	admin string // URL
}

// serve starts a node with everything on, as in production: keys, both windows, bans, metrics,
// and the access log, which goes to a file.
func (b *bench) serve(ctx context.Context, d *deployment) (*node, error) {
	api, admin := freeAddress(), freeAddress()
	args := append([]string{
		"serve", "--listen", api, "--admin-listen", admin, "--log-format", "json", "--log-level", "info",
		"--bans", "enforce", "--shutdown-timeout", "2s", "--max-categories-size", "4GiB",
	}, d.place...)
	if b.certificate != "" {
		args = append(args, "--tls-cert", b.certificate, "--tls-key", b.certificate)
	}
	n := &node{deployment: d, admin: "http://" + admin}
	p, err := b.start(ctx, launch{
		dir:   d.dir,
		path:  b.program("petcat"),
		url:   b.scheme() + api,
		ready: responds(ctx, n.admin+"/readyz"),
		args:  args,
	})
	n.process = p
	return n, err
}

// scheme is the beginning of the URLs of the next server.
func (b *bench) scheme() string {
	if b.certificate != "" {
		return "https://"
	}
	return "http://"
}

// node starts a node on a new deployment on SQLite, or on PostgreSQL, with some categories.
func (b *bench) node(ctx context.Context, name, database string, categories int) (*node, error) {
	d, err := b.deploy(ctx, name, database)
	if err != nil {
		return nil, err
	}
	n, err := b.serve(ctx, d)
	if err != nil {
		return nil, err
	}
	for i := range categories {
		create := n.create()
		create.body = marshal(categoryNumber(i + 1))
		if _, err := create.send(ctx); err != nil {
			return nil, err
		}
	}
	return n, nil
}

// nodes starts one node on SQLite, or several on PostgreSQL, with ten categories.
func (b *bench) nodes(ctx context.Context, name string, count int) ([]*node, error) {
	database := ""
	if count > 1 {
		db, err := b.startPostgres(ctx)
		if err != nil {
			return nil, err
		}
		database = db.url
	}
	first, err := b.node(ctx, name, database, few)
	all := []*node{first}
	for len(all) < count && err == nil {
		var next *node
		next, err = b.serve(ctx, first.deployment)
		all = append(all, next)
	}
	return all, err
}

func (n *node) list(more ...string) request {
	return request{method: "GET", url: n.url + path, header: append([]string{n.bearer}, more...), status: 200}
}

func (n *node) create() request {
	return request{
		method: "POST", url: n.url + path, header: []string{n.bearer, contentType},
		body: marshal(categoryNumber(1)), status: 201,
	}
}

// smallest starts the smallest program that sends the same response to r, and returns the request
// to it. It stores categories in the directory, or discards them if it is "".
func (b *bench) smallest(ctx context.Context, r request, dir string) (request, error) {
	a, err := r.send(ctx)
	if err != nil {
		return r, err
	}
	response := filepath.Join(b.work, "response")
	if err := os.WriteFile(response, a.wire, 0o600); err != nil {
		return r, err
	}
	args := []string{"-listen", freeAddress(), "-response", response, "-cert", b.certificate}
	r.url = b.scheme() + args[1] + path
	if dir != "" {
		args = append(args, "-database", filepath.Join(dir, "smallest.db"))
	}
	_, err = b.start(ctx, launch{
		dir: b.work, path: b.program("smallest"), args: args, url: r.url,
		ready: func() bool { _, err := r.send(ctx); return err == nil },
	})
	return r, err
}

func marshal(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // these types always marshal
	}
	return string(text)
}
