package server

import (
	"context"
	"fmt"
	"net"
	"strings"
	"time"
)

// Proxy starts haproxy with the configuration for three nodes on one machine that
// petcat comes with.
func Proxy(ctx context.Context, program, config, dir, name string, nodes [3]*PetcatServer) (*Server, error) {
	address, err := freeAddress(ctx)
	if err != nil {
		return nil, err
	}
	env := []string{"API_PORT=" + portOf(address)}
	for i, node := range nodes {
		env = append(env, fmt.Sprintf("NODE_%d=%s", i+1, portOf(node.URL)), fmt.Sprintf("ADMIN_%d=%s", i+1, portOf(node.Admin)))
	}
	p, err := startProcess(ctx, Launch{Name: name, Dir: dir, Path: program, Args: []string{"-db", "-q", "-f", config}, Env: env})
	if err != nil {
		return nil, err
	}
	s := &Server{Process: p, Name: name, URL: "http://" + address}
	err = p.awaitReady(ctx, 50*time.Millisecond, func() bool {
		// Without a key a node says 401; without a node haproxy says 503.
		status, _ := s.get(ctx, "/v1/categories")
		return status == 401
	})
	if err != nil {
		p.Stop()
		return nil, err
	}
	return s, nil
}

// portOf returns the port of an address or a URL without a path.
func portOf(address string) string {
	_, port, _ := net.SplitHostPort(strings.TrimPrefix(address, "http://"))
	return port
}
