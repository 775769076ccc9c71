package server

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
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
}

// nginxConfig is how nginx is made to do as much of petcat's work as it can:
// keys, a limit for each, and an access log that is buffered as petcat's is.
const nginxConfig = `
worker_processes auto;
daemon off;
pid %[1]s/nginx.pid;
error_log %[1]s/error.log;
%[2]s
events { worker_connections 4096; }
http {
	default_type application/json;
	server_tokens off;
	sendfile on;
	tcp_nopush on;
	%[7]s
	keepalive_requests 1000000000;
	keepalive_timeout 60s;
	access_log %[1]s/access.log combined buffer=64k flush=200ms;
	client_body_temp_path %[1]s/body;
	proxy_temp_path %[1]s/proxy;
	fastcgi_temp_path %[1]s/fastcgi;
	uwsgi_temp_path %[1]s/uwsgi;
	scgi_temp_path %[1]s/scgi;
	map_hash_bucket_size 256; # the key is longer than a bucket of 64
	map $http_authorization $known {
		default 0;
		"Bearer %[3]s" 1;
	}
	limit_req_zone $http_authorization zone=keys:10m rate=1000000r/s;
	server {
		listen %[4]s;
		location = /v1/categories {
			if ($known = 0) { return 401; }
			limit_req zone=keys burst=1000000 nodelay;
			limit_req_status 429;
			alias %[5]s;
			etag off; # the list's own is among the headers
			max_ranges 0;
			add_header Last-Modified "";
%[6]s
		}
	}
}
`

// Nginx starts nginx.
func Nginx(ctx context.Context, s Static) (*Server, error) {
	address, err := freeAddress(ctx)
	if err != nil {
		return nil, err
	}
	var headers strings.Builder
	for _, line := range s.Header {
		name, value, _ := strings.Cut(line, ": ")
		fmt.Fprintf(&headers, "\t\t\tadd_header %s '%s';\n", name, value)
	}
	user := ""
	if os.Geteuid() == 0 {
		user = "user root;" // the workers are to read files of ours
	}
	name, cache := "nginx", "open_file_cache off;"
	if s.KeepOpen {
		name, cache = "nginx-cached", "open_file_cache max=100 inactive=1h; open_file_cache_valid 1h;"
	}
	dir := filepath.Join(s.Dir, name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	config := filepath.Join(dir, "nginx.conf")
	text := fmt.Sprintf(nginxConfig, dir, user, s.Key, address, s.Body, headers.String(), cache)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		return nil, err
	}
	return launch(ctx, Launch{
		Name: name, Dir: dir, Path: s.Program,
		Args: []string{"-c", config, "-p", dir, "-e", filepath.Join(dir, "error.log")},
	}, address, "/")
}

// haproxyConfig: as for nginx, but without an access log, which haproxy cannot
// write to a file itself.
const haproxyConfig = `
global
	maxconn 4096
	tune.maxrewrite 8192
	tune.bufsize 65536
defaults
	mode http
	timeout client 60s
	timeout server 60s
	timeout connect 5s
	timeout http-keep-alive 60s
frontend api
	bind %[1]s
	stick-table type string len 64 size 100k expire 1h store http_req_rate(60s)
	http-request deny deny_status 401 unless { req.hdr(authorization) "Bearer %[2]s" }
	http-request track-sc0 req.hdr(authorization)
	http-request deny deny_status 429 if { sc_http_req_rate(0) gt 1000000000 }
	http-request return status 200 content-type application/json file %[3]s %[4]s if { path /v1/categories }
	http-request deny deny_status 404
`

// Haproxy starts haproxy.
func Haproxy(ctx context.Context, s Static) (*Server, error) {
	address, err := freeAddress(ctx)
	if err != nil {
		return nil, err
	}
	var headers strings.Builder
	for _, line := range s.Header {
		name, value, _ := strings.Cut(line, ": ")
		// The value is a format: a percent sign would begin a variable.
		quoted := strings.NewReplacer(`\`, `\\`, `"`, `\"`, `%`, `%%`).Replace(value)
		fmt.Fprintf(&headers, " hdr %s \"%s\"", name, quoted)
	}
	dir := filepath.Join(s.Dir, "haproxy")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	config := filepath.Join(dir, "haproxy.cfg")
	text := fmt.Sprintf(haproxyConfig, address, s.Key, s.Body, headers.String())
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		return nil, err
	}
	return launch(ctx, Launch{Name: "haproxy", Dir: dir, Path: s.Program, Args: []string{"-db", "-q", "-f", config}}, address, "/")
}
