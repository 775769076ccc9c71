package redislimit

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
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

const urlForms = "redis://[user:password@]host[:port][/database], rediss:// for TLS, redis-sentinel://host1,host2/database?master=NAME, redis-cluster://host1,host2 (add ?tls=true for TLS)"

// parseURL reads one of the forms that urlForms shows. Its errors never hold
// the URL or a part of it, because the password is one.
func parseURL(secret petcat.Secret) (endpoint, error) {
	bad := func(problem string) (endpoint, error) {
		return endpoint{}, fmt.Errorf("the limiter's URL %s; it has the form %s", problem, urlForms)
	}
	scheme, rest, found := strings.Cut(secret.Reveal(), "://")
	if !found {
		return bad("has no scheme")
	}
	var e endpoint
	switch strings.ToLower(scheme) {
	case "redis", "valkey":
	case "rediss", "valkeys":
		e.tls = true
	case "redis-sentinel":
		e.topology = sentinel
	case "redis-cluster":
		e.topology = cluster
	default:
		return bad("has another scheme than redis, rediss, redis-sentinel and redis-cluster")
	}
	rest, rawQuery, _ := strings.Cut(rest, "?")
	// A password may hold a slash or an @ that nobody escaped: the last @ counts.
	if at := strings.LastIndexByte(rest, '@'); at >= 0 {
		if err := e.signIn(rest[:at]); err != nil {
			return bad(err.Error())
		}
		rest = rest[at+1:]
	}
	hosts, path, _ := strings.Cut(rest, "/")
	if err := e.hosts(hosts); err != nil {
		return bad(err.Error())
	}
	if path != "" {
		n, err := strconv.Atoi(path)
		if err != nil || n < 0 {
			return bad("has a database that is not a number")
		}
		e.database = n
	}
	if err := e.query(rawQuery); err != nil {
		return bad(err.Error())
	}
	if err := e.check(); err != nil {
		return bad(err.Error())
	}
	return e, nil
}

var errEscapes = errors.New("holds a % that is not followed by two hexadecimal digits")

func (e *endpoint) signIn(userinfo string) error {
	user, password, _ := strings.Cut(userinfo, ":")
	user, err := url.PathUnescape(user)
	if err != nil {
		return errEscapes
	}
	if password, err = url.PathUnescape(password); err != nil {
		return errEscapes
	}
	e.username, e.password = user, petcat.NewSecret(password)
	return nil
}

func (e *endpoint) hosts(list string) error {
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

func (e *endpoint) query(raw string) error {
	values, err := url.ParseQuery(raw)
	if err != nil {
		return errors.New("has parameters that cannot be read")
	}
	for name, value := range values {
		switch name {
		case "master":
			e.master = value[0]
		case "tls":
			if e.tls, err = strconv.ParseBool(value[0]); err != nil {
				return errors.New("has another value for tls than true and false")
			}
		case "sentinel_username":
			e.sentinelUsername = value[0]
		case "sentinel_password":
			e.sentinelPassword = petcat.NewSecret(value[0])
		default:
			// Not named: it could be a part of a password.
			return errors.New("has a parameter other than master, tls, sentinel_username and sentinel_password")
		}
	}
	return nil
}

func (e *endpoint) check() error {
	switch {
	case e.topology == single && len(e.addresses) > 1:
		return errors.New("names several hosts: for those there are redis-sentinel and redis-cluster")
	case e.topology == sentinel && e.master == "":
		return errors.New("does not say which master (?master=NAME)")
	case e.topology == cluster && e.database != 0:
		return errors.New("names a database, which a cluster does not have")
	}
	return nil
}

// tlsConfig returns how to speak TLS, or nil for plaintext. base may bring an
// authority or a certificate of ours.
func (e *endpoint) tlsConfig(base *tls.Config) *tls.Config {
	if !e.tls {
		return nil
	}
	if base == nil {
		base = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	c := base.Clone()
	if host, _, err := net.SplitHostPort(e.addresses[0]); c.ServerName == "" && err == nil && e.topology == single {
		c.ServerName = host
	}
	return c
}
