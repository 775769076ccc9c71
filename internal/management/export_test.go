package management

import (
	"maps"
	"slices"
)

// Routes returns the methods of each path below /admin/v1.
func Routes() map[string][]string {
	all := make(map[string][]string)
	for path, methods := range routes() {
		all[path] = slices.Sorted(maps.Keys(methods))
	}
	return all
}
