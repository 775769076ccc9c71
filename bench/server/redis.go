package server

import (
	"context"
	"fmt"
	"net"
	"os/exec"
	"strconv"
	"strings"
)

// Redis starts a Redis, or a Valkey, of its own. It keeps nothing on the disk:
// petcat needs none of it.
func Redis(ctx context.Context, path, dir string) (*Server, error) {
	return redis(ctx, path, dir, "redis")
}

func redis(ctx context.Context, path, dir, name string, settings ...string) (*Server, error) {
	port, address := 0, ""
	// The servers of a cluster speak with each other 10,000 ports above.
	for port == 0 || port > 55_000 {
		var err error
		if address, err = freeAddress(ctx); err != nil {
			return nil, err
		}
		if port, err = strconv.Atoi(portOf(address)); err != nil {
			return nil, err
		}
	}
	return program{
		name: name, dir: dir, path: path,
		args: append([]string{
			"--port", portOf(address), "--bind", "127.0.0.1", "--dir", dir, "--save", "", "--appendonly", "no", "--daemonize", "no",
		}, settings...),
		ready: func() bool {
			var dialer net.Dialer
			conn, err := dialer.DialContext(ctx, "tcp", address)
			return err == nil && conn.Close() == nil
		},
	}.start(ctx, "redis://"+address)
}

// Cluster starts a cluster of three servers, primaries that share the hash slots,
// and returns its URL and how to stop it.
func Cluster(ctx context.Context, path, dir string) (url string, stop func(), err error) {
	var addresses []string
	var servers []*Server
	stop = func() {
		for _, s := range servers {
			s.Stop()
		}
	}
	for _, name := range []string{"redis-1", "redis-2", "redis-3"} {
		s, err := redis(ctx, path, dir, name, "--cluster-enabled", "yes", "--cluster-config-file", name+".conf")
		if err != nil {
			stop()
			return "", nil, err
		}
		servers, addresses = append(servers, s), append(addresses, strings.TrimPrefix(s.URL, "redis://"))
	}
	client := strings.TrimSuffix(path, "-server") + "-cli"
	for _, args := range [][]string{
		append([]string{"--cluster", "create", "--cluster-yes"}, addresses...),
		{"--cluster", "check", addresses[2]},
	} {
		if out, err := exec.CommandContext(ctx, client, args...).CombinedOutput(); err != nil {
			stop()
			return "", nil, fmt.Errorf("%s %v: %w: %s", client, args, err, out)
		}
	}
	return "redis-cluster://" + strings.Join(addresses, ","), stop, nil
}
