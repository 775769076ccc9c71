package server

import (
	"context"
	"net"
	"strconv"
	"time"
)

// RedisServer is a Redis, or a Valkey, of its own.
type RedisServer struct {
	*Process
	URL     string
	address string
}

// Redis starts one. It keeps nothing on the disk: petcat needs none of it.
func Redis(ctx context.Context, program, dir string) (*RedisServer, error) {
	return startRedis(ctx, program, dir, "redis")
}

func startRedis(ctx context.Context, program, dir, name string, settings ...string) (*RedisServer, error) {
	address, err := freeRedisAddress(ctx)
	if err != nil {
		return nil, err
	}
	_, port, _ := net.SplitHostPort(address)
	p, err := startProcess(ctx, Launch{Name: name, Dir: dir, Path: program, Args: append([]string{
		"--port", port, "--bind", "127.0.0.1", "--dir", dir, "--save", "", "--appendonly", "no", "--daemonize", "no",
	}, settings...)})
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
	return &RedisServer{Process: p, URL: "redis://" + address, address: address}, nil
}

// freeRedisAddress returns an address whose port has another one 10,000 above it, on
// which the servers of a cluster speak with each other.
func freeRedisAddress(ctx context.Context) (string, error) {
	for {
		address, err := freeAddress(ctx)
		if err != nil {
			return "", err
		}
		_, port, _ := net.SplitHostPort(address)
		if n, err := strconv.Atoi(port); err == nil && n < 55_000 {
			return address, nil
		}
	}
}
