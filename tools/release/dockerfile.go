package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// copied is one COPY of the last stage.
type copied struct {
	from, to string
	user     int // and group
}

// readDockerfile returns what the last stage of a Dockerfile makes of an empty image, so
// that an image that is made without docker is the same. It refuses what it does not know.
func readDockerfile(name string) (v1.Config, []copied, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return v1.Config{}, nil, err
	}
	config, copies := v1.Config{}, []copied(nil)
	for line := range strings.Lines(strings.ReplaceAll(string(text), "\\\n", " ")) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		word, rest, _ := strings.Cut(line, " ")
		switch {
		case word == "FROM":
			config, copies = v1.Config{}, nil
			if rest == "scratch" {
				config.ExposedPorts = map[string]struct{}{}
			}
		case config.ExposedPorts == nil: // of a stage that builds
		case word == "COPY":
			c, err := parseCopy(rest)
			if err != nil {
				return v1.Config{}, nil, fmt.Errorf("%s: %q: %w", name, line, err)
			}
			copies = append(copies, c)
		default:
			if err := configure(&config, word, rest); err != nil {
				return v1.Config{}, nil, fmt.Errorf("%s: %q: %w", name, line, err)
			}
		}
	}
	if config.ExposedPorts == nil {
		return v1.Config{}, nil, fmt.Errorf("%s does not end with an image from scratch", name)
	}
	return config, copies, nil
}

func parseCopy(rest string) (copied, error) {
	var c copied
	var paths []string
	for word := range strings.FieldsSeq(rest) {
		if owner, found := strings.CutPrefix(word, "--chown="); found {
			user, group, _ := strings.Cut(owner, ":")
			id, err := strconv.Atoi(user)
			if err != nil || group != user {
				return c, fmt.Errorf("the owner has to be a number, and the group the same")
			}
			c.user = id
		} else if !strings.HasPrefix(word, "--from=") {
			paths = append(paths, word)
		}
	}
	if len(paths) != 2 {
		return c, fmt.Errorf("one path has to be copied to another")
	}
	c.from, c.to = paths[0], paths[1]
	return c, nil
}

// configure applies an instruction.
func configure(config *v1.Config, word, rest string) error {
	switch word {
	case "USER":
		config.User = rest
	case "ENV":
		config.Env = append(config.Env, rest)
	case "EXPOSE":
		for port := range strings.FieldsSeq(rest) {
			config.ExposedPorts[port+"/tcp"] = struct{}{}
		}
	case "STOPSIGNAL":
		config.StopSignal = rest
	case "ENTRYPOINT":
		return json.Unmarshal([]byte(rest), &config.Entrypoint)
	case "CMD":
		return json.Unmarshal([]byte(rest), &config.Cmd)
	case "HEALTHCHECK":
		health, err := parseHealth(rest)
		config.Healthcheck = health
		return err
	default:
		return fmt.Errorf("an instruction that is not known here")
	}
	return nil
}

func parseHealth(rest string) (*v1.HealthConfig, error) {
	options, command, found := strings.Cut(rest, " CMD ")
	if !found {
		return nil, fmt.Errorf("there is no CMD")
	}
	health := &v1.HealthConfig{Test: []string{"CMD"}}
	var words []string
	if err := json.Unmarshal([]byte(command), &words); err != nil {
		return nil, err
	}
	health.Test = append(health.Test, words...)
	for option := range strings.FieldsSeq(options) {
		name, value, _ := strings.Cut(option, "=")
		var err error
		switch name {
		case "--interval":
			health.Interval, err = time.ParseDuration(value)
		case "--timeout":
			health.Timeout, err = time.ParseDuration(value)
		case "--start-period":
			health.StartPeriod, err = time.ParseDuration(value)
		case "--retries":
			health.Retries, err = strconv.Atoi(value)
		default:
			err = fmt.Errorf("%s is not known here", name)
		}
		if err != nil {
			return nil, err
		}
	}
	return health, nil
}
