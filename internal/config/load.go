package config

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"
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
		if s.IsBool() {
			flags.Bool(s.Flag, s.Default == "true", usage)
		} else {
			flags.String(s.Flag, s.Default, usage)
		}
		registered = append(registered, s)
	}
	return registered
}

// Load returns the settings of a command: the effective values of those whose flags it
// has, and the defaults of all others. If there are mistakes, it returns one [Error] with
// all of them. environ is in the form of [os.Environ].
func Load(flags *pflag.FlagSet, environ []string) (Settings, error) {
	var loaded Settings
	var mistakes []string
	variables := parseEnviron(environ)
	for _, s := range table(&loaded) {
		value, origin, err := s.find(flags, variables)
		if err == nil {
			err = s.store(value)
		}
		if err != nil {
			mistakes = append(mistakes, fmt.Sprintf("--%s (%s) %v", s.Flag, s.Env, err))
		}
		if s.Flag == "environment" {
			loaded.EnvironmentGiven = origin != originDefault
		}
	}
	if mistakes = append(mistakes, loaded.contradictions()...); len(mistakes) > 0 {
		return Settings{}, Errorf("%s", strings.Join(mistakes, "; "))
	}
	return loaded, nil
}

const originDefault = "default"

// find returns the value of a setting and where it came from: the flag, then the environment,
// then the default. Without its flag, a command has the default.
func (s Setting) find(flags *pflag.FlagSet, variables map[string]string) (value, origin string, err error) {
	flag := flags.Lookup(s.Flag)
	switch {
	case flag == nil:
		return s.Default, originDefault, nil
	case flag.Changed:
		value, err = clean(flag.Value.String())
		return value, "flag --" + s.Flag, err
	default:
		return s.fromEnvironment(variables)
	}
}

// fromEnvironment is find without a flag. An empty variable counts as unset, because files of
// compose and systemd set variables without a value to "".
func (s Setting) fromEnvironment(variables map[string]string) (value, origin string, err error) {
	value, err = clean(variables[s.Env])
	fileEnv := s.Env + "_FILE"
	switch file := variables[fileEnv]; {
	case s.Secret && file != "" && value != "":
		return "", "environment " + s.Env, fmt.Errorf("and %s are both set; unset one", fileEnv)
	case s.Secret && file != "":
		value, err = readSecretFile(fileEnv, file)
		return value, "file " + file + " of " + fileEnv, err
	case value == "":
		return s.Default, originDefault, nil
	default:
		return value, "environment " + s.Env, err
	}
}

// bom is the byte order mark that some editors write before UTF-8.
const bom = "\ufeff"

func readSecretFile(variable, name string) (string, error) {
	text, err := os.ReadFile(strings.TrimSpace(name))
	if err != nil {
		return "", fmt.Errorf("cannot be read from the file that %s names: %w", variable, err)
	}
	value, err := clean(strings.TrimPrefix(string(text), bom))
	if err == nil && value == "" {
		err = fmt.Errorf("cannot be read from the file that %s names: %s is empty", variable, name)
	}
	return value, err
}

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
	case s.Choices != nil && oneOf(s.Choices, value) != nil:
		return oneOf(s.Choices, value)
	case s.Choices != nil:
		value = strings.ToLower(value)
	}
	err := s.set(value)
	if err != nil && s.must != "" {
		return fmt.Errorf("must be %s (got %q)", s.must, s.shown(value))
	}
	return err
}

// parseEnviron returns the variables of a process by their names.
func parseEnviron(environ []string) map[string]string {
	variables := make(map[string]string, len(environ))
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		variables[name] = value
	}
	return variables
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
	for name := range parseEnviron(environ) {
		if strings.HasPrefix(name, "PETCAT_") && !known[name] && !fromKubernetes(name) {
			unknown = append(unknown, name)
		}
	}
	slices.Sort(unknown)
	return unknown
}

// fromKubernetes reports whether Kubernetes may have set a variable. Beside a
// Service named petcat or petcat-something it sets PETCAT_PORT,
// PETCAT_SERVICE_HOST, PETCAT_PORT_8080_TCP_ADDR, PETCAT_SOMETHING_PORT and so
// on, in every container of the namespace. No setting has such a name.
func fromKubernetes(name string) bool {
	return strings.HasSuffix(name, "_PORT") || strings.Contains(name, "_PORT_") ||
		strings.Contains(name, "_SERVICE_") || strings.HasPrefix(name, "PETCAT_TCP")
}

// Value is an effective setting as it is shown, without secrets.
type Value struct {
	Flag        string `json:"flag"` // "" for a variable of libpq
	Environment string `json:"environment"`
	Value       string `json:"value"`
	Default     string `json:"default"`
	WhenEmpty   string `json:"when_empty,omitempty"`
	Origin      string `json:"origin"`
}

// Shown returns the value, or in parentheses what an empty one means.
func (v Value) Shown() string { return cmp.Or(v.Value, "("+v.WhenEmpty+")") }

// Values returns all settings, unchecked, in the order of [Table], and the variables of libpq
// if the data is in PostgreSQL: they complete its URL.
func Values(flags *pflag.FlagSet, environ []string) (values []Value) {
	variables, libpq := parseEnviron(environ), false
	for _, s := range Table() {
		value, origin, _ := s.find(flags, variables)
		values = append(values, Value{"--" + s.Flag, s.Env, s.shown(value), s.Default, s.WhenEmpty, origin})
		libpq = libpq || s.Flag == "database" && strings.HasPrefix(value, "postgres")
	}
	for _, entry := range slices.Sorted(slices.Values(environ)) {
		if name, value, _ := strings.Cut(entry, "="); libpq && value != "" && strings.HasPrefix(name, "PG") {
			if strings.Contains(name, "PASSWORD") {
				value = masked
			}
			values = append(values, Value{Environment: name, Value: value, Origin: "environment " + name})
		}
	}
	return values
}

const masked = "***"

// shown returns a value without secrets. Every address is masked, because users put passwords
// even into addresses that need none.
func (s Setting) shown(value string) string {
	if value == s.Default || !s.Secret && !strings.Contains(value, "://") {
		return value
	}
	return mask(value)
}

// mask returns an address without its password, parameters and fragment. It masks all of an
// address whose password is not certain.
func mask(address string) string {
	u, err := url.Parse(address)
	if err != nil || !strings.Contains(address, "://") || ambiguous(address) {
		return masked
	}
	if u.User != nil {
		u.User = url.UserPassword(u.User.Username(), masked)
	}
	u.RawQuery, u.Fragment = "", ""
	return strings.Replace(u.String(), "%2A%2A%2A", masked, 1)
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
	variables := parseEnviron(environ)
	url, err := clean(cmp.Or(url, variables[serviceURLEnv], DefaultServiceURL))
	if err != nil {
		return Service{}, Errorf("--url (%s) %v", serviceURLEnv, err)
	}
	key, _, err := Setting{Env: apiKeyEnv, Secret: true}.fromEnvironment(variables)
	if err != nil {
		return Service{}, Errorf("%s %v", apiKeyEnv, err)
	} else if key == "" {
		return Service{}, Errorf("there is no API key; put it into the environment variable %[1]s, or the name of its file into %[1]s_FILE", apiKeyEnv)
	}
	url = strings.TrimRight(url, "/")
	return Service{URL: strings.TrimRight(strings.TrimSuffix(url, "/v1"), "/"), Key: petcat.NewSecret(key)}, nil
}
