package config

import (
	"slices"
	"strings"
)

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
func UnknownVariables(environ []string) []string {
	known := map[string]bool{serviceURLEnv: true, apiKeyEnv: true, apiKeyFileEnv: true}
	for _, s := range Table() {
		known[s.Env] = true
		if s.Secret {
			known[s.fileEnv()] = true
		}
	}
	var unknown []string
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
