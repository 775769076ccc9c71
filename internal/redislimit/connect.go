package redislimit

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/rueidis"
)

const (
	dialTimeout = time.Second
	// idleCheck is how long a connection may be silent before it is tried: a
	// server that was cut off without a word keeps no connection for longer.
	idleCheck = time.Second
	// queueScale makes each of a server's four connections hold 2^12 commands.
	queueScale       = 12
	connectionsScale = 2 // 2^2
)

// clientOption returns the client's settings.
func (l *Limiter) clientOption() rueidis.ClientOption {
	e := l.endpoint
	o := rueidis.ClientOption{
		InitAddress: e.addresses,
		Username:    e.username,
		Password:    e.password.Reveal(),
		SelectDB:    e.database,
		ClientName:  "petcat",
		TLSConfig:   e.tlsConfig(l.options.TLS),
		Dialer:      net.Dialer{Timeout: dialTimeout, KeepAlive: idleCheck},

		ConnWriteTimeout:  time.Second,
		RingScaleEachConn: queueScale,
		PipelineMultiplex: connectionsScale,
		// The default buffers, half a MiB each, are for large values.
		ReadBufferEachConn:  64 << 10,
		WriteBufferEachConn: 64 << 10,
		// A charge whose answer was lost must not be sent again.
		DisableRetry:  true,
		DisableCache:  true,
		ClientSetInfo: []string{"petcat", ""},
	}
	o.ClusterOption.MaxMovedRedirections = 2
	switch e.topology {
	case single:
		o.ForceSingleClient = true
	case cluster:
	case sentinel:
		o.Sentinel = rueidis.SentinelOption{
			MasterSet: e.master, Username: e.sentinelUsername, Password: e.sentinelPassword.Reveal(),
			Dialer: o.Dialer, TLSConfig: o.TLSConfig, TopologyRefreshInterval: 5 * time.Second,
		}
	}
	return o
}

// connect reaches the server, checks that it may be used, and beats once: it is
// reached when a part of it answers.
func (l *Limiter) connect(ctx context.Context) error {
	client, err := rueidis.NewClient(l.clientOption())
	if err == nil {
		err = l.checkServer(ctx, client)
	}
	if err == nil {
		// The servers of a cluster are only connected to now.
		err = heardBy(l.beatAll(ctx, client, dialTimeout, 0))
	}
	if err != nil {
		if client != nil {
			client.Close()
		}
		return err
	}
	l.client.Store(&client)
	return nil
}

// unusable is why a server must not be used, however well it answers.
type unusable struct{ error }

// permanent reports whether an error will not go away by itself.
func permanent(err error) bool {
	if _, is := errors.AsType[unusable](err); is {
		return true
	}
	if e, ok := rueidis.IsRedisErr(err); ok {
		text := strings.TrimPrefix(e.Error(), "ERR ") // some versions of the client leave it out
		for _, refusal := range []string{"WRONGPASS", "NOAUTH", "NOPERM", "AUTH", "invalid DB index", "DB index", "SELECT"} {
			if strings.HasPrefix(text, refusal) {
				return true
			}
		}
	}
	return false
}

// refusesWrites reports whether the server answered and would not write: it is
// a replica, has no memory left, is loading, or no longer knows us.
func refusesWrites(err error) bool {
	e, ok := rueidis.IsRedisErr(err)
	if !ok || e.IsTryAgain() || e.IsClusterDown() {
		return false
	}
	_, moved := e.IsMoved()
	_, ask := e.IsAsk()
	return !moved && !ask
}

// inWords says what a server refused to somebody who sets one up; its own words
// are for those who write clients.
func inWords(err error) error {
	e, ok := rueidis.IsRedisErr(err)
	if !ok {
		return err
	}
	switch kind, _, _ := strings.Cut(e.Error(), " "); kind {
	case "NOAUTH":
		return errors.New("it wants a password (NOAUTH)")
	case "WRONGPASS":
		return errors.New("it refuses the user or the password (WRONGPASS)")
	case "NOPERM":
		return errors.New("it gives the user too few rights (NOPERM)")
	default:
		return err
	}
}

// minMajor is the oldest major version of Redis whose commands and scripts are
// tested here; Valkey calls itself compatible with 7.2.
const minMajor = 7

// checkServer refuses servers that would make wrong promises of ours.
func (l *Limiter) checkServer(ctx context.Context, client rueidis.Client) error {
	for address, node := range client.Nodes() {
		ctx, cancel := context.WithTimeout(ctx, dialTimeout)
		info, err := node.Do(ctx, node.B().Info().Section("server", "memory").Build()).ToString()
		cancel()
		if err != nil {
			return err
		}
		if err := l.checkInfo(address, info); err != nil {
			return err
		}
	}
	return nil
}

func (l *Limiter) checkInfo(address, info string) error {
	version := infoField(info, "redis_version")
	major, _, _ := strings.Cut(version, ".")
	if n, err := strconv.Atoi(major); err != nil || n < minMajor {
		return unusable{fmt.Errorf("%s runs version %q; Redis 7 or Valkey 8, or newer, is needed", address, version)}
	}
	if infoField(info, "redis_mode") == "cluster" && !l.apart.Swap(true) {
		l.logger.Warn(apartWarning, "address", address)
	}
	switch policy := infoField(info, "maxmemory_policy"); {
	case policy == "noeviction" || policy == "":
	case l.options.AllowEviction:
		l.logger.Warn("the limiter's server may throw counts away when its memory is full; set maxmemory-policy to noeviction", "address", address, "policy", policy)
	default:
		return unusable{fmt.Errorf("%s may throw counts away when its memory is full (maxmemory-policy is %s): set it to noeviction", address, policy)}
	}
	return nil
}

// infoField returns a field of an answer to INFO.
func infoField(info, name string) string {
	for line := range strings.Lines(info) {
		if value, found := strings.CutPrefix(line, name+":"); found {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

const (
	batchSize    = 1_000
	batchTimeout = time.Second
)

// runAll runs a script many times, in as few round trips as it takes. A batch may
// take longer than a command: no request waits for it so long.
func (l *Limiter) runAll(ctx context.Context, s script, calls []call) []reply {
	replies := make([]reply, 0, len(calls))
	for batch := range slices.Chunk(calls, batchSize) {
		client := l.client.Load()
		if client == nil {
			for range batch {
				replies = append(replies, reply{err: errNotConnected})
			}
			continue
		}
		ctx, cancel := context.WithTimeout(ctx, batchTimeout)
		replies = append(replies, s.runAll(ctx, *client, batch)...)
		cancel()
	}
	return replies
}
