package config

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/pflag"

	"petcat"
)

// Register adds the flags of the named settings, or of all settings without names, and
// returns these settings.
func Register(flags *pflag.FlagSet, names ...string) (registered []Setting) {
	for _, s := range Table() {
		if len(names) > 0 && !slices.Contains(names, s.Flag) {
			continue
		}
		usage := fmt.Sprintf("%s (%s)", s.Usage, s.Env)
		if s.must == trueOrFalse {
			flags.Bool(s.Flag, s.Default == "true", usage)
		} else {
			flags.String(s.Flag, s.Default, usage)
		}
		registered = append(registered, s)
	}
	return registered
}

// Value is the value of a setting, and where it came from.
type Value struct {
	Flag        string `json:"flag"` // "" for a variable of libpq
	Environment string `json:"environment"`
	Value       string `json:"value"` // without secrets
	Default     string `json:"default"`
	WhenEmpty   string `json:"when_empty,omitempty"`
	Origin      string `json:"origin"`
}

// Shown returns the value without secrets, or in parentheses what an empty one means.
func (v Value) Shown() string { return cmp.Or(v.Value, "("+v.WhenEmpty+")") }

const originDefault = "default"

// Load returns the settings of a command: the effective values of those whose flags it has,
// and the defaults of all others. If there are mistakes, it returns one [Error] with all of
// them, and only the Values. environ is in the form of [os.Environ].
func Load(flags *pflag.FlagSet, environ []string) (loaded Settings, err error) {
	var mistakes []string
	variables := Variables(environ)
	for _, s := range table(&loaded) {
		text, origin, err := s.find(flags.Lookup(s.Flag), variables)
		if err = cmp.Or(err, s.store(text)); err != nil {
			mistakes = append(mistakes, fmt.Sprintf("--%s (%s) %v", s.Flag, s.Env, err))
		}
		loaded.Values = append(loaded.Values, Value{"--" + s.Flag, s.Env, s.shown(text), s.Default, s.WhenEmpty, origin})
	}
	loaded.BackupDir = cmp.Or(loaded.BackupDir, filepath.Join(loaded.Data, "backups"))
	if !loaded.UsesSQLite() {
		loaded.Values = append(loaded.Values, libpq(variables)...)
	}
	if mistakes = append(mistakes, loaded.contradictions()...); len(mistakes) > 0 {
		return Settings{Values: loaded.Values}, Errorf("%s", strings.Join(mistakes, "; "))
	}
	return loaded, nil
}

// find returns the value of a setting and where it came from: a flag, else a variable or the
// file that another one names, else the default. It is the default where the command lacks
// the flag. An empty variable counts as unset, because files of compose and systemd set
// variables without a value to "".
func (s Setting) find(flag *pflag.Flag, variables map[string]string) (text, origin string, err error) {
	fileEnv := s.Env + "_FILE"
	text, file := strings.TrimSpace(variables[s.Env]), strings.TrimSpace(variables[fileEnv])
	switch {
	case flag == nil:
		return s.Default, originDefault, nil
	case flag.Changed:
		text, origin = flag.Value.String(), "flag --"+s.Flag
	case s.Secret && file != "" && text != "":
		return "", "environment " + s.Env, fmt.Errorf("and %s are both set; unset one", fileEnv)
	case s.Secret && file != "":
		b, err := os.ReadFile(file)
		if err != nil {
			return "", "file " + file + " of " + fileEnv, fmt.Errorf("cannot be read from the file that %s names: %w", fileEnv, err)
		}
		text, origin = strings.TrimPrefix(string(b), bom), "file "+file+" of "+fileEnv
	case text == "":
		text, origin = s.Default, originDefault
	default:
		origin = "environment " + s.Env
	}
	text, err = clean(text)
	return text, origin, err
}

// bom is the byte order mark that some editors write before UTF-8.
const bom = "\ufeff"

// clean returns a value without white space around it. It refuses what a shell would have
// removed or replaced, and files of variables keep.
func clean(value string) (string, error) {
	value = strings.TrimSpace(value)
	switch {
	case len(value) > 1 && strings.Contains(`"'`, value[:1]) && value[len(value)-1] == value[0]:
		return value, errors.New("is in quotes; leave them out")
	case strings.ContainsFunc(value, unicode.IsControl), strings.Contains(value, bom):
		return value, errors.New("has a control character, such as a line break; remove it")
	case strings.HasPrefix(value, "~"):
		return value, errors.New("begins with ~, which petcat does not expand; write the whole path")
	default:
		return value, nil
	}
}

// store checks a value and stores it.
func (s Setting) store(value string) error {
	switch {
	case value == "" && s.Default == "":
		return nil
	case value == "":
		return errors.New("must not be empty")
	case s.Choices != nil:
		value = strings.ToLower(value)
	}
	err := s.set(value)
	if s.Choices != nil && !slices.Contains(s.Choices, value) {
		err = errNot
	}
	if err != nil && s.must != "" {
		err = fmt.Errorf("must be %s (got %q)", s.must, s.shown(value))
	}
	return err
}

// Variables returns the variables of a process by their names. environ is in the form of
// [os.Environ].
func Variables(environ []string) map[string]string {
	variables := make(map[string]string, len(environ))
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		variables[name] = value
	}
	return variables
}

// libpq returns the variables of libpq.
func libpq(variables map[string]string) (values []Value) {
	for _, name := range slices.Sorted(maps.Keys(variables)) {
		if value := variables[name]; strings.HasPrefix(name, "PG") && value != "" {
			s := Setting{Env: name, Secret: strings.Contains(name, "PASSWORD")}
			values = append(values, Value{Environment: name, Value: s.shown(value), Origin: "environment " + name})
		}
	}
	return values
}

// UnknownVariables returns the names of variables that look like settings but are not.
// Without a warning, a misspelt setting would be ignored silently. They are no errors,
// because other programs may use them. environ is in the form of [os.Environ].
func UnknownVariables(environ []string) (unknown []string) {
	known := map[string]bool{serviceURLEnv: true, apiKeyEnv: true, apiKeyEnv + "_FILE": true}
	for _, s := range Table() {
		known[s.Env] = true
		known[s.Env+"_FILE"] = s.Secret
	}
	for name := range Variables(environ) {
		if strings.HasPrefix(name, "PETCAT_") && !known[name] && !fromKubernetes.MatchString(name) {
			unknown = append(unknown, name)
		}
	}
	slices.Sort(unknown)
	return unknown
}

// fromKubernetes matches the variables that Kubernetes sets in every container of a namespace
// with a Service named petcat or petcat-something: PETCAT_PORT, PETCAT_SERVICE_HOST,
// PETCAT_PORT_8080_TCP_ADDR, PETCAT_SOMETHING_PORT and so on. No setting has such a name.
var fromKubernetes = regexp.MustCompile(`_PORT$|_PORT_|_SERVICE_|^PETCAT_TCP`)

// masked stands for a secret.
const masked = "***"

// shown returns a value without secrets. Every address is masked, because users put passwords
// even into addresses that need none: it is shown without password, parameters and fragment,
// and not at all if it is not certain where the password is.
func (s Setting) shown(value string) string {
	u, err := url.Parse(value)
	isURL := strings.Contains(value, "://")
	if value == s.Default || !s.Secret && !isURL {
		return value
	}
	if err != nil || !isURL || ambiguous(value) {
		return masked
	}
	u.RawQuery, u.Fragment = "", ""
	return strings.Replace(u.Redacted(), ":xxxxx@", ":"+masked+"@", 1)
}

// The variables of the commands that call a service through its API. They may also be set where
// a server starts, which ignores them.
const serviceURLEnv, apiKeyEnv = "PETCAT_URL", "PETCAT_API_KEY" //nolint:gosec // names of variables

// DefaultServiceURL is where a server of this machine listens by default.
const DefaultServiceURL = "http://localhost:8080"

// Service is the service that a command calls through the API.
type Service struct {
	URL string // without the version of the API at its end
	Key petcat.Secret
}

// LoadService returns the service of a command. Its URL is url if that is not empty, else
// that of the environment, else the default. The key cannot be a flag, because all users of
// the machine see flags in the list of processes. Errors are [Error]s. environ is in the
// form of [os.Environ].
func LoadService(url string, environ []string) (Service, error) {
	variables := Variables(environ)
	url, err := clean(cmp.Or(url, variables[serviceURLEnv], DefaultServiceURL))
	if err != nil {
		return Service{}, Errorf("--url (%s) %v", serviceURLEnv, err)
	}
	key, _, err := Setting{Env: apiKeyEnv, Secret: true}.find(&pflag.Flag{}, variables)
	if err != nil {
		return Service{}, Errorf("%s %v", apiKeyEnv, err)
	} else if key == "" {
		return Service{}, Errorf("there is no API key; put it into the environment variable %[1]s, or the name of its file into %[1]s_FILE", apiKeyEnv)
	}
	url = strings.TrimSuffix(strings.TrimRight(url, "/"), "/v1")
	return Service{URL: strings.TrimRight(url, "/"), Key: petcat.NewSecret(key)}, nil
}

// sqliteDatabase is the value of --database beside addresses.
const sqliteDatabase = "sqlite"

// errNot is the error of settings whose must describes the accepted values.
var errNot = errors.New("another value")

// valid returns a value, or errNot unless it is valid.
func valid[T any](value T, isValid bool) (T, error) {
	if !isValid {
		return value, errNot
	}
	return value, nil
}

// database never repeats the value, which may have a password.
func database(value string) (petcat.Secret, error) {
	u, err := url.Parse(value)
	switch {
	case ambiguous(value):
		return petcat.Secret{}, errors.New("has an @, /, ? or # in the user, the password or a parameter; write them as %40, %2F, %3F and %23")
	case value != sqliteDatabase && (err != nil || !strings.Contains(value, "://") || u.Scheme != "postgres" && u.Scheme != "postgresql"):
		return petcat.Secret{}, errors.New("must be sqlite, which is the file in the data directory (--data), or the URL of a PostgreSQL database; this value is no URL that begins with postgres://")
	default:
		return petcat.NewSecret(value), nil
	}
}

// ambiguous reports whether a URL may have parts of a password behind its host: with an @ that
// was not escaped nobody can say where the password ends, and an unescaped /, ? or # ends the
// host too early.
func ambiguous(address string) bool {
	_, rest, _ := strings.Cut(address, "://")
	before, _, at := strings.Cut(rest, "@")
	return strings.Count(rest, "@") > 1 || at && strings.ContainsAny(before, "/?#")
}

// address checks host:port. The port is a number, because the names of ports differ between
// machines; 0 lets the system choose one.
func address(value string) (string, error) {
	_, port, err := net.SplitHostPort(value)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	return value, err
}

func atLeastOne(value string) (int, error) {
	n, err := strconv.Atoi(value)
	return valid(n, err == nil && n > 0)
}

// ParseDuration reads a duration: days (24 hours) and then the form of [time.ParseDuration],
// as in 90d, 1d12h or 30s. A negative duration is an error.
func ParseDuration(value string) (time.Duration, error) {
	hours := value
	days, rest, found := strings.Cut(value, "d")
	if n, err := strconv.ParseUint(days, 10, 32); found && err == nil {
		hours = fmt.Sprintf("%dh%s", 24*n, rest)
	}
	d, err := time.ParseDuration(hours)
	if err != nil || d < 0 {
		return 0, fmt.Errorf("must be a duration such as 30s, 24h or 90d (got %q)", value)
	}
	return d, nil
}

// ParseTime reads a time that a user typed: a duration (7d), which from turns into a time, the
// beginning of a day in UTC (2027-01-31), or an instant (RFC 3339). The result has whole seconds.
func ParseTime(value string, from func(time.Duration) time.Time) (time.Time, error) {
	for _, form := range []string{time.DateOnly, time.RFC3339} {
		if t, err := time.Parse(form, value); err == nil && t.UTC().Year() > 1 && t.UTC().Year() <= 9999 { // year 1 has the zero time
			return t.UTC().Truncate(time.Second), nil
		}
	}
	d, err := ParseDuration(value)
	if err != nil {
		return time.Time{}, fmt.Errorf("must be a duration such as 7d, a day such as 2027-01-31, or a time such as 2027-01-31T18:00:00Z (got %.50q)", value)
	}
	return from(d), nil
}

// ParseLogLevel reads a level of the log.
func ParseLogLevel(value string) (level slog.Level, err error) {
	if err := level.UnmarshalText([]byte(value)); err != nil {
		return 0, fmt.Errorf("must be debug, info, warn or error (got %q)", value)
	}
	return level, nil
}

var nodeForm = regexp.MustCompile(`^[A-Za-z0-9._-]{1,63}$`)

// nodeName checks a name that stands in the lines of logs and in metrics.
func nodeName(value string) (string, error) {
	return valid(value, nodeForm.MatchString(value))
}

// listOf returns a function that reads each part of a list.
func listOf[T any](parse func(string) (T, error)) func(string) ([]T, error) {
	return func(value string) (all []T, err error) {
		for part := range strings.FieldsFuncSeq(value, func(r rune) bool { return r == ',' || r == ' ' }) {
			one, err := parse(part)
			if err != nil {
				return nil, err
			}
			all = append(all, one)
		}
		return all, nil
	}
}

func network(value string) (netip.Prefix, error) {
	if address, err := netip.ParseAddr(value); err == nil {
		return address.Unmap().Prefix(address.Unmap().BitLen())
	}
	prefix, err := netip.ParsePrefix(value)
	return prefix.Masked(), err
}

var publicForm = regexp.MustCompile(`^https?://[^/?#@\s]+(/[^?#@\s]*)?$`)

func publicURL(value string) (string, error) {
	value = strings.TrimRight(value, "/")
	_, err := url.Parse(value)
	return valid(value, err == nil && publicForm.MatchString(value) && !strings.HasSuffix(value, "/v1"))
}

// consoleURL allows http only on this machine, because a sign-in sends a secret.
func consoleURL(value string) (string, error) {
	sent, err := origin(value)
	address, plain := strings.CutPrefix(sent, "http://")
	return valid(sent, err == nil && (!plain || isLoopback(address) || isLoopback(address+":80")))
}

var originForm = regexp.MustCompile(`^(https?)://([a-z0-9._-]+|\[[0-9a-f:]+\])(:[0-9]{1,5})?/*$`)

// origin returns an origin as browsers send it (RFC 6454, section 6.2): in lower case, without
// a path, and with a port only if it is not the scheme's own. They send xn--bcher-kva.example
// for bücher.example.
func origin(value string) (string, error) {
	found := originForm.FindStringSubmatch(strings.ToLower(value))
	if found == nil {
		return "", errNot
	}
	scheme, host, port := found[1], found[2], found[3]
	if scheme+port == "http:80" || scheme+port == "https:443" {
		port = ""
	}
	return scheme + "://" + host + port, nil
}

// corsOrigin also reads *, which allows the web pages of all origins. That is safe: unlike a
// cookie, a browser adds no key to a request by itself, so a web page can do only what its own
// key allows.
func corsOrigin(value string) (string, error) {
	if value == "*" {
		return value, nil
	}
	return origin(value)
}
