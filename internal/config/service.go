package config

import (
	"strings"

	"petcat"
)

// The variables of the commands that call a service through its API. They may also be set
// where a server starts, which ignores them.
const (
	serviceURLEnv = "PETCAT_URL"
	apiKeyEnv     = "PETCAT_API_KEY" //nolint:gosec // the name of a variable
	apiKeyFileEnv = apiKeyEnv + "_FILE"
)

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
	for _, other := range []string{variables[serviceURLEnv], DefaultServiceURL} {
		if url == "" {
			url = other
		}
	}
	key, file := variables[apiKeyEnv], variables[apiKeyFileEnv]
	switch {
	case key != "" && file != "":
		return Service{}, Errorf("%s and %s are both set; unset one", apiKeyEnv, apiKeyFileEnv)
	case file != "":
		var err error
		if key, err = readSecretFile(file); err != nil {
			return Service{}, Errorf("%s names a file that cannot be used: %v", apiKeyFileEnv, err)
		}
	case key == "":
		return Service{}, Errorf("there is no API key; put it into the environment variable %s, or the name of its file into %s", apiKeyEnv, apiKeyFileEnv)
	}
	url = strings.TrimRight(url, "/")
	return Service{URL: strings.TrimRight(strings.TrimSuffix(url, "/v1"), "/"), Key: petcat.NewSecret(key)}, nil
}
