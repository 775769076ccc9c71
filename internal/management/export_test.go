package management

// Route is the method and the path of an operation.
type Route struct {
	Method  string
	Path    string // below /admin/v1
	Changes bool
}

// Routes returns the whole surface of the API.
func Routes() (all []Route) {
	for _, r := range new(API).routes() {
		all = append(all, Route{r.method, r.path, r.changes})
	}
	return all
}
