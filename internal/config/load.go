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

	given   petcat.Secret
	mistake error // why it cannot be used, whatever the setting is
}

// Shown returns the value without secrets, or in parentheses what an empty one means.
func (v Value) Shown() string { return cmp.Or(v.Value, "("+v.WhenEmpty+")") }

const originDefault = "default"

// Load returns the settings of a command: the effective values of those whose flags it has,
// and the defaults of all others. If there are mistakes, it returns one [Error] with all of
// them, and only the Values. environ is in the form of [os.Environ].
func Load(flags *pflag.FlagSet, environ []string) (loaded Settings, err error) {
	var mistakes []string
	variables := parseEnviron(environ)
	for _, s := range table(&loaded) {
		v := s.fromEnvironment(variables)
		if flag := flags.Lookup(s.Flag); flag == nil {
			v = s.value(s.Default, originDefault, nil)
		} else if flag.Changed {
			v = s.value(flag.Value.String(), "flag --"+s.Flag, nil)
		}
		if err := cmp.Or(v.mistake, s.store(v.given.Reveal())); err != nil {
			mistakes = append(mistakes, fmt.Sprintf("--%s (%s) %v", s.Flag, s.Env, err))
		}
		loaded.EnvironmentGiven = loaded.EnvironmentGiven || s.Flag == "environment" && v.Origin != originDefault
		loaded.Values = append(loaded.Values, v)
	}
	if !loaded.UsesSQLite() {
		loaded.Values = append(loaded.Values, libpq(environ)...)
	}
	if mistakes = append(mistakes, loaded.contradictions()...); len(mistakes) > 0 {
		return Settings{Values: loaded.Values}, Errorf("%s", strings.Join(mistakes, "; "))
	}
	return loaded, nil
}

// fromEnvironment returns the value of a variable, else of the file that another one names,
// else the default. An empty variable counts as unset, because files of compose and systemd
// set variables without a value to "".
func (s Setting) fromEnvironment(variables map[string]string) Value {
	fileEnv := s.Env + "_FILE"
	text, file := variables[s.Env], strings.TrimSpace(variables[fileEnv])
	switch {
	case s.Secret && file != "" && text != "":
		return s.value("", "environment "+s.Env, fmt.Errorf("and %s are both set; unset one", fileEnv))
	case s.Secret && file != "":
		b, err := os.ReadFile(file)
		if err != nil {
			err = fmt.Errorf("cannot be read from the file that %s names: %w", fileEnv, err)
		}
		return s.value(strings.TrimPrefix(string(b), bom), "file "+file+" of "+fileEnv, err)
	case strings.TrimSpace(text) == "":
		return s.value(s.Default, originDefault, nil)
	default:
		return s.value(text, "environment "+s.Env, nil)
	}
}

func (s Setting) value(text, origin string, err error) Value {
	text, mistake := clean(text)
	return Value{"--" + s.Flag, s.Env, s.shown(text), s.Default, s.WhenEmpty, origin, petcat.NewSecret(text), cmp.Or(err, mistake)}
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
	if value == "" && s.Default == "" {
		return nil
	} else if value == "" {
		return errors.New("must not be empty")
	}
	if s.Choices != nil {
		value = strings.ToLower(value)
	}
	err := s.set(value)
	if s.Choices != nil && !slices.Contains(s.Choices, value) {
		err = errNot
	}
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

// libpq returns the variables of libpq.
func libpq(environ []string) (values []Value) {
	for _, entry := range slices.Sorted(slices.Values(environ)) {
		name, value, _ := strings.Cut(entry, "=")
		if strings.HasPrefix(name, "PG") && value != "" {
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

// masked stands for a secret.
const masked = "***"

// shown returns a value without secrets. Every address is masked, because users put passwords
// even into addresses that need none: it is shown without password, parameters and fragment,
// and not at all if it is not certain where the password is.
func (s Setting) shown(value string) string {
	u, err := url.Parse(value)
	switch isURL := strings.Contains(value, "://"); {
	case value == s.Default || !s.Secret && !isURL:
		return value
	case err != nil || !isURL || ambiguous(value):
		return masked
	case u.User != nil:
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
	key := Setting{Env: apiKeyEnv, Secret: true}.fromEnvironment(variables)
	switch {
	case err != nil:
		return Service{}, Errorf("--url (%s) %v", serviceURLEnv, err)
	case key.mistake != nil:
		return Service{}, Errorf("%s %v", apiKeyEnv, key.mistake)
	case key.given.IsZero():
		return Service{}, Errorf("there is no API key; put it into the environment variable %[1]s, or the name of its file into %[1]s_FILE", apiKeyEnv)
	}
	url = strings.TrimRight(url, "/")
	return Service{URL: strings.TrimRight(strings.TrimSuffix(url, "/v1"), "/"), Key: key.given}, nil
}
