package server

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"
)

// RedisCluster is a cluster of its own: primaries that share the hash slots.
type RedisCluster struct {
	Servers []*RedisServer
	URL     string
}

// Stop ends all servers.
func (c *RedisCluster) Stop() {
	for _, s := range c.Servers {
		s.Stop()
	}
}

// Cluster starts a cluster of three servers.
func Cluster(ctx context.Context, program, dir string) (_ *RedisCluster, err error) {
	const size, slots = 3, 16_384
	c := &RedisCluster{}
	defer func() {
		if err != nil {
			c.Stop()
		}
	}()
	var addresses []string
	for i := range size {
		s, err := startRedis(ctx, program, dir, "redis-"+strconv.Itoa(i+1),
			"--cluster-enabled", "yes", "--cluster-config-file", fmt.Sprintf("redis-%d.conf", i+1))
		if err != nil {
			return nil, err
		}
		c.Servers = append(c.Servers, s)
		addresses = append(addresses, s.address)
		if _, err := s.do(ctx, "CLUSTER", "ADDSLOTSRANGE", strconv.Itoa(slots*i/size), strconv.Itoa(slots*(i+1)/size-1)); err != nil {
			return nil, err
		}
		host, port, _ := net.SplitHostPort(s.address)
		if _, err := c.Servers[0].do(ctx, "CLUSTER", "MEET", host, port); err != nil {
			return nil, err
		}
	}
	for _, s := range c.Servers {
		err := s.awaitReady(ctx, 20*time.Millisecond, func() bool {
			info, _ := s.do(ctx, "CLUSTER", "INFO")
			return strings.Contains(info, "cluster_state:ok") && strings.Contains(info, "cluster_known_nodes:3") &&
				strings.Contains(info, "cluster_slots_ok:"+strconv.Itoa(slots))
		})
		if err != nil {
			return nil, err
		}
	}
	c.URL = "redis-cluster://" + strings.Join(addresses, ",")
	return c, nil
}

// do runs a command that answers with a word or a text.
func (s *RedisServer) do(ctx context.Context, args ...string) (string, error) {
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", s.address)
	if err != nil {
		return "", err
	}
	defer func() { _ = conn.Close() }()
	if err := conn.SetDeadline(time.Now().Add(time.Second)); err != nil {
		return "", err
	}
	if _, err := io.WriteString(conn, strings.Join(args, " ")+"\r\n"); err != nil {
		return "", err
	}
	r := bufio.NewReader(conn)
	line, err := r.ReadString('\n')
	if err != nil {
		return "", err
	}
	switch kind, rest := line[0], strings.TrimSpace(line[1:]); kind {
	case '+', ':':
		return rest, nil
	case '$':
		size, err := strconv.Atoi(rest)
		text := make([]byte, max(0, size))
		_, err1 := io.ReadFull(r, text)
		return string(text), errors.Join(err, err1)
	default:
		return "", fmt.Errorf("%s: %s", args[0], rest)
	}
}
