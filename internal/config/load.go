package config

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/pflag"
)

// Value is a setting with its effective value.
type Value struct {
	Setting

	// Origin is "default", or the flag, variable or file that sets the value.
	Origin string
	text   string // as it was given, secrets included
	given  bool   // not the default
}

// Load returns the settings of a command: the effective values of those whose flags it
// has, and the defaults of all others. If there are mistakes, it returns one [Error] with
// all of them. environ is in the form of [os.Environ].
func Load(flags *pflag.FlagSet, environ []string) (Settings, error) {
	values, mistakes := resolve(flags, environ)
	loaded, more := apply(values)
	if mistakes = append(mistakes, more...); len(mistakes) > 0 {
		return Settings{}, Errorf("%s", strings.Join(mistakes, "; "))
	}
	return loaded, nil
}

// Values returns the value of each setting, unchecked, in the order of [Table]. If a value
// cannot be read, it is the default.
func Values(flags *pflag.FlagSet, environ []string) []Value {
	values, _ := resolve(flags, environ)
	return values
}

// resolve finds the value of each setting: flag, then environment, then default. An empty
// variable counts as unset, because files of compose and systemd set variables without a
// value to "".
func resolve(flags *pflag.FlagSet, environ []string) (values []Value, mistakes []string) {
	variables := parseEnviron(environ)
	for _, s := range Table() {
		v := Value{Setting: s, text: s.Default, Origin: "default"}
		flag := flags.Lookup(s.Flag)
		if flag == nil {
			values = append(values, v)
			continue
		}
		variable, file := variables[s.Env], ""
		if s.Secret {
			file = variables[s.fileEnv()]
		}
		switch {
		case flag.Changed:
			v.text, v.Origin, v.given = flag.Value.String(), "flag --"+s.Flag, true
		case variable != "" && file != "":
			mistakes = append(mistakes, fmt.Sprintf("%s and %s are both set; unset one", s.Env, s.fileEnv()))
		case variable != "":
			v.text, v.Origin, v.given = variable, "environment "+s.Env, true
		case file != "":
			v.Origin = "file " + file + " of " + s.fileEnv()
			text, err := readSecretFile(file)
			if err != nil {
				mistakes = append(mistakes, fmt.Sprintf("%s names a file that cannot be used: %v", s.fileEnv(), err))
			} else {
				v.text, v.given = text, true
			}
		}
		values = append(values, v)
	}
	return values, mistakes
}

// apply checks the values one by one, and then together.
func apply(values []Value) (loaded Settings, mistakes []string) {
	for _, v := range values {
		if err := v.apply(&loaded, v.text); err != nil {
			mistakes = append(mistakes, fmt.Sprintf("--%s (%s) %v", v.Flag, v.Env, err))
		}
		if v.Flag == "environment" {
			loaded.EnvironmentGiven = v.given
		}
	}
	return loaded, append(mistakes, loaded.contradictions()...)
}

// maxSecretFile is far more bytes than any address has. It keeps a wrong file, such as a
// device, from filling the memory.
const maxSecretFile = 64 << 10

func readSecretFile(name string) (string, error) {
	f, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }()
	b, err := io.ReadAll(io.LimitReader(f, maxSecretFile+1))
	if err != nil {
		return "", err
	}
	text := strings.TrimSpace(string(b))
	switch {
	case len(b) > maxSecretFile:
		return "", fmt.Errorf("%s is longer than %d bytes", name, maxSecretFile)
	case text == "":
		return "", fmt.Errorf("%s is empty", name)
	default:
		return text, nil
	}
}
