package main

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
)

// effective is a setting with the value that holds and where it came from.
type effective struct {
	setting
	value  string
	origin string // "default", or what people must look at to change it
	given  bool   // not the default
}

// loadSettings returns the settings of a command: of those whose flags it has,
// the values that hold, and of all others the defaults. Every mistake is in the
// one error. Variables that look like settings and are none are warned about on
// the command's error stream.
func loadSettings(cmd *cobra.Command, getenv func(string) (string, bool)) (Settings, error) {
	warnUnknown(cmd.ErrOrStderr(), os.Environ(), getenv) //nolint:forbidigo // a getenv cannot list; it still decides which names count
	values, mistakes := resolveSettings(cmd, getenv)
	loaded, more := applySettings(values)
	if mistakes = append(mistakes, more...); len(mistakes) > 0 {
		return Settings{}, configErrorf("%s", strings.Join(mistakes, "; "))
	}
	return loaded, nil
}

// resolveSettings finds the value of each setting: flag, then environment, then
// default. An empty variable counts as absent, because that is what the files
// of compose and systemd make of one that is not filled in.
func resolveSettings(cmd *cobra.Command, getenv func(string) (string, bool)) (values []effective, mistakes []string) {
	for _, s := range settings() {
		v := effective{setting: s, value: s.fallback, origin: "default"}
		flag := cmd.Flags().Lookup(s.flag)
		if flag == nil {
			values = append(values, v)
			continue
		}
		fromEnv, _ := getenv(s.env)
		file := ""
		if s.secret {
			file, _ = getenv(s.fileEnv())
		}
		switch {
		case flag.Changed:
			v.value, v.origin, v.given = flag.Value.String(), "flag --"+s.flag, true
		case fromEnv != "" && file != "":
			mistakes = append(mistakes, fmt.Sprintf("%s and %s are both set; unset one", s.env, s.fileEnv()))
		case fromEnv != "":
			v.value, v.origin, v.given = fromEnv, "environment "+s.env, true
		case file != "":
			text, err := readSecretFile(file)
			if err != nil {
				mistakes = append(mistakes, fmt.Sprintf("%s names a file that cannot be used: %v", s.fileEnv(), err))
			}
			v.value, v.origin, v.given = text, "file "+file+" of "+s.fileEnv(), err == nil
			if err != nil {
				v.value = s.fallback
			}
		}
		values = append(values, v)
	}
	return values, mistakes
}

// applySettings checks the values one by one, and then together.
func applySettings(values []effective) (loaded Settings, mistakes []string) {
	for _, v := range values {
		if err := v.apply(&loaded, v.value); err != nil {
			mistakes = append(mistakes, fmt.Sprintf("--%s (%s) %v", v.flag, v.env, err))
		}
		if v.flag == "environment" {
			loaded.EnvironmentGiven = v.given
		}
	}
	return loaded, append(mistakes, loaded.contradictions()...)
}

// maxSecretFile is far above any address, and keeps a wrong file name, such as
// that of a device, from filling the memory.
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
