package server

import (
	"context"
	"net"
	"time"
)

// RedisServer is a Redis, or a Valkey, of its own.
type RedisServer struct {
	*Process
	URL string
}

// Redis starts one. It keeps nothing on the disk: petcat needs none of it.
func Redis(ctx context.Context, program, dir string) (*RedisServer, error) {
	address, err := freeAddress(ctx)
	if err != nil {
		return nil, err
	}
	_, port, _ := net.SplitHostPort(address)
	p, err := startProcess(ctx, Launch{Name: "redis", Dir: dir, Path: program, Args: []string{
		"--port", port, "--bind", "127.0.0.1", "--dir", dir, "--save", "", "--appendonly", "no", "--daemonize", "no",
	}})
	if err != nil {
		return nil, err
	}
	err = p.awaitReady(ctx, 10*time.Millisecond, func() bool {
		var dialer net.Dialer
		conn, err := dialer.DialContext(ctx, "tcp", address)
		return err == nil && conn.Close() == nil
	})
	if err != nil {
		p.Stop()
		return nil, err
	}
	return &RedisServer{Process: p, URL: "redis://" + address}, nil
}
