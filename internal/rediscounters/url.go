package rediscounters

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"petcat"
)

// topology is how the server is made up.
type topology uint8

const (
	single topology = iota
	sentinel
	cluster
)

// endpoint is what a URL says: where the server is and how to sign in.
type endpoint struct {
	topology  topology
	tls       bool
	addresses []string
	username  string
	password  petcat.Secret
	database  int
	master    string // of Sentinel: the name of what it watches

	// Who signs in to the Sentinels; empty: nobody.
	sentinelUsername string
	sentinelPassword petcat.Secret
}

var schemes = map[string]endpoint{ //nolint:gochecknoglobals // a table that nobody changes
	"redis": {}, "valkey": {}, "rediss": {tls: true}, "valkeys": {tls: true},
	"redis-sentinel": {topology: sentinel}, "redis-cluster": {topology: cluster},
}

const urlForms = "redis://[user:password@]host[:port][/database], rediss:// for TLS, redis-sentinel://host1,host2/database?master=NAME, redis-cluster://host1,host2 (add ?tls=true for TLS)"

// parseURL reads one of the forms that urlForms shows. Its errors never hold
// the URL or a part of it, because the password is one.
func parseURL(secret petcat.Secret) (endpoint, error) {
	scheme, rest, _ := strings.Cut(secret.Reveal(), "://")
	e, known := schemes[strings.ToLower(scheme)]
	err := errors.New("has a scheme other than redis, rediss, redis-sentinel and redis-cluster")
	if known {
		err = e.read(rest)
	}
	if err != nil {
		return endpoint{}, fmt.Errorf("the limiter's URL %w; it has the form %s", err, urlForms)
	}
	return e, nil
}

// read reads what follows the scheme.
func (e *endpoint) read(rest string) error {
	rest, query, _ := strings.Cut(rest, "?")
	// A password may hold a slash or an @ that nobody escaped: the last @ counts.
	at := strings.LastIndexByte(rest, '@')
	user, password, _ := strings.Cut(rest[:max(at, 0)], ":")
	user, err := url.PathUnescape(user)
	password, err2 := url.PathUnescape(password)
	if errors.Join(err, err2) != nil {
		return errors.New("holds a % that is not followed by two hexadecimal digits")
	}
	e.username, e.password = user, petcat.NewSecret(password)
	hosts, path, _ := strings.Cut(rest[at+1:], "/")
	e.database, err = strconv.Atoi(cmp.Or(path, "0"))
	if err != nil || e.database < 0 {
		return errors.New("has a database that is not a number")
	}
	if err := cmp.Or(e.readHosts(hosts), e.readQuery(query)); err != nil {
		return err
	}
	switch {
	case e.topology == single && len(e.addresses) > 1:
		return errors.New("names several hosts: use redis-sentinel or redis-cluster")
	case e.topology == sentinel && e.master == "":
		return errors.New("lacks the master's name (?master=NAME)")
	case e.topology == cluster && e.database != 0:
		return errors.New("names a database, which a cluster does not have")
	}
	return nil
}

func (e *endpoint) readHosts(list string) error {
	port := "6379"
	if e.topology == sentinel {
		port = "26379"
	}
	for address := range strings.SplitSeq(list, ",") {
		if address == "" {
			return errors.New("has no host")
		}
		if _, named, err := net.SplitHostPort(address); err != nil {
			address = net.JoinHostPort(strings.Trim(address, "[]"), port)
		} else if _, err := strconv.ParseUint(named, 10, 16); err != nil {
			return errors.New("has a port that is not a number up to 65535")
		}
		e.addresses = append(e.addresses, address)
	}
	return nil
}

func (e *endpoint) readQuery(raw string) error {
	values, err := url.ParseQuery(raw)
	if err != nil {
		return errors.New("has malformed parameters")
	}
	for name := range values {
		if !slices.Contains([]string{"master", "tls", "sentinel_username", "sentinel_password"}, name) {
			// Not named: it could be a part of a password.
			return errors.New("has a parameter other than master, tls, sentinel_username and sentinel_password")
		}
	}
	if e.tls, err = strconv.ParseBool(cmp.Or(values.Get("tls"), strconv.FormatBool(e.tls))); err != nil {
		return errors.New("has a value for tls other than true or false")
	}
	e.master, e.sentinelUsername = values.Get("master"), values.Get("sentinel_username")
	e.sentinelPassword = petcat.NewSecret(values.Get("sentinel_password"))
	return nil
}
