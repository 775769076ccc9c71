package config

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/dustin/go-humanize"
	"github.com/spf13/pflag"

	"github.com/petcat-api/petcat"
)

// Register adds the flags of the named settings, by default of all, and returns these
// settings.
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

// Value is the value of a setting, and its origin.
type Value struct {
	Flag        string `json:"flag"` // "" for a libpq variable
	Environment string `json:"environment"`
	Value       string `json:"value"` // secrets are masked
	Default     string `json:"default"`
	WhenEmpty   string `json:"when_empty,omitempty"`
	Origin      string `json:"origin"`
}

// Shown returns the value, or the meaning of an empty value in parentheses.
func (v Value) Shown() string { return cmp.Or(v.Value, "("+v.WhenEmpty+")") }

const originDefault = "default"

// Load returns the settings of a command. Settings without a flag in flags have their defaults.
// If there are mistakes, it returns only the Values, and one [petcat.UnusableError] with all
// mistakes. environ has the form of [os.Environ].
func Load(flags *pflag.FlagSet, environ []string) (loaded Settings, err error) {
	var mistakes []string
	variables := Variables(environ)
	for _, s := range table(&loaded) {
		text, origin, err := s.find(flags.Lookup(s.Flag), variables)
		shown := s.mask(text)
		if err = cmp.Or(err, s.store(text)); err != nil {
			mistakes = append(mistakes, fmt.Sprintf("--%s (%s) %v", s.Flag, s.Env, err))
		} else if s.must != "" {
			shown = text // values of this form do not contain a secret
		}
		loaded.Values = append(loaded.Values, Value{
			Flag:        "--" + s.Flag,
			Environment: s.Env,
			Value:       shown,
			Default:     s.Default,
			WhenEmpty:   s.WhenEmpty,
			Origin:      origin,
		})
	}
	loaded.BackupDir = cmp.Or(loaded.BackupDir, filepath.Join(loaded.Data, "backups"))
	if !loaded.UsesSQLite() {
		loaded.Values = append(loaded.Values, libpq(variables)...)
	}
	if mistakes = append(mistakes, loaded.contradictions()...); len(mistakes) > 0 {
		return Settings{Values: loaded.Values}, petcat.Unusablef(nil, "%s", strings.Join(mistakes, "; "))
	}
	return loaded, nil
}

// find returns the value of a setting and its origin: the flag, else the variable or the file of
// the _FILE variable, else the default. Without a flag, it is the default. An empty variable
// counts as unset, because environment files of Compose and systemd set variables without a
// value to "".
func (s Setting) find(flag *pflag.Flag, variables map[string]string) (text, origin string, err error) {
	fileEnv := s.Env + "_FILE"
	text = strings.TrimSpace(variables[s.Env])
	file := strings.TrimSpace(variables[fileEnv])
	switch {
	case flag == nil:
		return s.Default, originDefault, nil
	case flag.Changed:
		text = flag.Value.String()
		origin = "flag --" + s.Flag
	case s.Secret && file != "" && text != "":
		return "", "environment " + s.Env, fmt.Errorf("and %s are both set; unset one", fileEnv)
	case s.Secret && file != "":
		origin = "file " + file + " of " + fileEnv
		b, err := os.ReadFile(file)
		if err != nil {
			return "", origin, fmt.Errorf("cannot be read from the file that %s names: %w", fileEnv, err)
		}
		text = strings.TrimPrefix(string(b), bom)
	case text == "":
		text = s.Default
		origin = originDefault
	default:
		origin = "environment " + s.Env
	}
	text, err = clean(text)
	return text, origin, err
}

// bom is the byte order mark that some editors write at the start of a file.
const bom = "\ufeff"

// clean returns a value without surrounding white space. It rejects quotes, control characters
// and ~, which a shell would have removed or replaced, but an environment file keeps.
func clean(value string) (string, error) {
	value = strings.TrimSpace(value)
	switch {
	case len(value) > 1 && strings.Contains(`"'`, value[:1]) && value[len(value)-1] == value[0]:
		return value, errors.New("is in quotes; remove them")
	case strings.ContainsFunc(value, unicode.IsControl), strings.Contains(value, bom):
		return value, errors.New("contains a control character, such as a line break; remove it")
	case strings.HasPrefix(value, "~"):
		return value, errors.New("starts with ~, which petcat does not expand; write the full path")
	default:
		return value, nil
	}
}

// store validates and stores a value.
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
		err = fmt.Errorf("must be %s (got %q)", s.must, s.mask(value))
	}
	return err
}

// Variables returns environment variables by name. environ has the form of [os.Environ].
func Variables(environ []string) map[string]string {
	variables := make(map[string]string, len(environ))
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		variables[name] = value
	}
	return variables
}

// libpq returns the libpq variables.
func libpq(variables map[string]string) (values []Value) {
	for _, name := range slices.Sorted(maps.Keys(variables)) {
		if value := variables[name]; strings.HasPrefix(name, "PG") && value != "" {
			s := Setting{Env: name, Secret: strings.Contains(name, "PASSWORD")}
			values = append(values, Value{
				Environment: name,
				Value:       s.mask(value),
				Origin:      "environment " + name,
			})
		}
	}
	return values
}

// UnknownVariables returns the names of variables that start with PETCAT_ but are not settings,
// such as a misspelled one. They are not errors, because other programs may use them. environ
// has the form of [os.Environ].
func UnknownVariables(environ []string) (unknown []string) {
	known := map[string]bool{
		serviceURLEnv:       true,
		apiKeyEnv:           true,
		apiKeyEnv + "_FILE": true,
		// Operators' programs read these (docs/operations.md).
		"PETCAT_ADMIN_URL":   true,
		"PETCAT_ADMIN_TOKEN": true,
	}
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
// PETCAT_PORT_8080_TCP_ADDR, PETCAT_SOMETHING_PORT and so on. Settings do not have such names.
var fromKubernetes = regexp.MustCompile(`_PORT$|_PORT_|_SERVICE_|^PETCAT_TCP`)

// masked replaces a secret.
const masked = "***"

// mask masks the secrets in a value. It masks every URL, because users put passwords even into URLs that
// do not need one: the result lacks the password, parameters and fragment. If the position of the
// password is uncertain, the whole value is masked.
func (s Setting) mask(value string) string {
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

// Variables for the commands that call the API. Servers ignore them.
const (
	serviceURLEnv = "PETCAT_URL"
	apiKeyEnv     = "PETCAT_API_KEY" //nolint:gosec // the name of a variable
)

// DefaultServiceURL is the default URL of a server on this machine.
const DefaultServiceURL = "http://localhost:8080"

// Service is a service that a command calls through the API.
type Service struct {
	URL string // without /v1
	Key petcat.Secret
}

// LoadService returns the service for a command. An empty url means the URL of the environment, or
// else the default. The key cannot be a flag, because process lists show flags to all users.
// Errors are [petcat.UnusableError]s. environ has the form of [os.Environ].
func LoadService(url string, environ []string) (Service, error) {
	variables := Variables(environ)
	url, err := clean(cmp.Or(url, variables[serviceURLEnv], DefaultServiceURL))
	if err != nil {
		return Service{}, petcat.Unusablef(nil, "--url (%s) %v", serviceURLEnv, err)
	}
	key, _, err := Setting{Env: apiKeyEnv, Secret: true}.find(&pflag.Flag{}, variables)
	if err != nil {
		return Service{}, petcat.Unusablef(nil, "%s %v", apiKeyEnv, err)
	} else if key == "" {
		return Service{}, petcat.Unusablef(nil, "the API key is missing; "+
			"set the environment variable %[1]s to the key, or %[1]s_FILE to the name of its file", apiKeyEnv)
	}
	url = strings.TrimSuffix(strings.TrimRight(url, "/"), "/v1")
	return Service{URL: strings.TrimRight(url, "/"), Key: petcat.NewSecret(key)}, nil
}

// sqliteDatabase is the value of --database for SQLite.
const sqliteDatabase = "sqlite"

// errNot is the error of settings whose field must describes the accepted values.
var errNot = errors.New("another value")

// valid returns a value, or errNot unless it is valid.
func valid[T any](value T, isValid bool) (T, error) {
	if !isValid {
		return value, errNot
	}
	return value, nil
}

// database validates --database. Its errors do not repeat the value, which may contain a password.
func database(value string) (petcat.Secret, error) {
	switch {
	case ambiguous(value):
		return petcat.Secret{}, errors.New("contains an unescaped @, /, ? or # in the user, the password " +
			"or a parameter; write them as %40, %2F, %3F and %23")
	case value != sqliteDatabase && !isPostgresURL(value):
		return petcat.Secret{}, errors.New("must be sqlite (a file in the data directory, --data) " +
			"or the URL of a PostgreSQL database; this value is not a URL that starts with postgres://")
	default:
		return petcat.NewSecret(value), nil
	}
}

func isPostgresURL(value string) bool {
	u, err := url.Parse(value)
	if err != nil || !strings.Contains(value, "://") {
		return false
	}
	return u.Scheme == "postgres" || u.Scheme == "postgresql"
}

// ambiguous reports whether parts of a password may follow the host of a URL: with an unescaped @, the
// end of the password is unknown, and an unescaped /, ? or # cuts the host off.
func ambiguous(address string) bool {
	_, rest, _ := strings.Cut(address, "://")
	before, _, at := strings.Cut(rest, "@")
	return strings.Count(rest, "@") > 1 || at && strings.ContainsAny(before, "/?#")
}

// address validates host:port. The port must be a number, because the names of ports differ
// between machines. With port 0, the system chooses one.
func address(value string) (string, error) {
	_, port, err := net.SplitHostPort(value)
	if err == nil {
		if n, isNumber := petcat.ParseNumber(port); !isNumber || n > math.MaxUint16 {
			err = errNot
		}
	}
	return value, err
}

func atLeastOne(value string) (int, error) {
	n, isNumber := petcat.ParseNumber(value)
	return valid(int(n), isNumber && n > 0 && n <= math.MaxInt32)
}

// size parses a number of bytes with a unit, such as 64MiB, 1GB or 67108864.
func size(value string) (int64, error) {
	n, err := humanize.ParseBytes(value)
	return valid(int64(n), err == nil && n >= humanize.MiByte && n <= 4*humanize.GiByte) // #nosec G115 -- checked
}

// ParseDuration parses a duration: optional days (24 hours), then the form of
// [time.ParseDuration], as in 90d, 1d12h or 30s. It rejects negative durations.
func ParseDuration(value string) (time.Duration, error) {
	hours := value
	days, rest, found := strings.Cut(value, "d")
	if n, isNumber := petcat.ParseNumber(days); found && isNumber && n <= math.MaxInt32 {
		hours = fmt.Sprintf("%dh%s", 24*n, rest)
	}
	d, err := time.ParseDuration(hours)
	if err != nil || d < 0 || strings.HasPrefix(value, "+") {
		return 0, fmt.Errorf("must be a duration such as 30s, 24h or 90d (got %q)", value)
	}
	return d, nil
}

// ParseOverlap parses the overlap of a rotation in a request; "": the default. It returns a
// [petcat.Error].
func ParseOverlap(value string) (time.Duration, error) {
	if value == "" {
		return petcat.DefaultOverlap, nil
	}
	overlap, err := ParseDuration(value)
	if err != nil {
		return 0, petcat.Errorf(petcat.CodeInvalidField, "overlap %v", err).In("overlap")
	}
	return overlap, nil
}

// ParseTime parses a time that a user typed: a duration (7d), which from converts to a time, the
// start of a day in UTC (2027-01-31), or an instant (RFC 3339). The result has whole seconds.
func ParseTime(value string, from func(time.Duration) time.Time) (time.Time, error) {
	for _, form := range []string{time.DateOnly, time.RFC3339} {
		t, err := time.Parse(form, value)
		year := t.UTC().Year()
		if err == nil && year > 1 && year <= 9999 { // year 1 has the zero time
			return t.UTC().Truncate(time.Second), nil
		}
	}
	d, err := ParseDuration(value)
	if err != nil {
		return time.Time{}, fmt.Errorf("must be a duration such as 7d, a day such as 2027-01-31, "+
			"or a time such as 2027-01-31T18:00:00Z (got %.50q)", value)
	}
	return from(d), nil
}

// ParseLogLevel parses a log level.
func ParseLogLevel(value string) (level slog.Level, err error) {
	if err := level.UnmarshalText([]byte(value)); err != nil {
		return 0, fmt.Errorf("must be debug, info, warn or error (got %q)", value)
	}
	return level, nil
}

// ParseLogLevelTime parses how long a log level applies to all nodes.
func ParseLogLevelTime(value string) (time.Duration, error) {
	d, err := ParseDuration(value)
	if err == nil && d == 0 {
		err = errors.New("must be more than 0")
	}
	return d, err
}

var nodeForm = regexp.MustCompile(`^[A-Za-z0-9._-]{1,63}$`)

// nodeName validates a name for logs and metrics, where it must not need escapes.
func nodeName(value string) (string, error) {
	return valid(value, nodeForm.MatchString(value))
}

// listOf returns a function that parses a list.
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

// consoleURL allows http only on loopback, because a sign-in sends a secret.
func consoleURL(value string) (string, error) {
	sent, err := origin(value)
	address, plain := strings.CutPrefix(sent, "http://")
	return valid(sent, err == nil && (!plain || isLoopback(address) || isLoopback(address+":80")))
}

var originForm = regexp.MustCompile(`^(https?)://([a-z0-9._-]+|\[[0-9a-f:]+\])(:[0-9]{1,5})?/*$`)

// origin returns an origin as browsers send it (RFC 6454, section 6.2): in lower case, without
// a path, and without the scheme's default port. For bücher.example, they send
// xn--bcher-kva.example.
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

// corsOrigin also accepts *, which allows all origins. That is safe, because browsers do not add
// keys to requests, as they do with cookies: a web page can use only its own key.
func corsOrigin(value string) (string, error) {
	if value == "*" {
		return value, nil
	}
	return origin(value)
}
