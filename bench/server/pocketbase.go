package server

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
)

// Record is a category as PocketBase is to hold it.
type Record struct {
	Name        string `json:"name"`
	Description string `json:"description"`
}

// PocketBaseServer is PocketBase with a collection of categories.
type PocketBaseServer struct {
	Server
	Token string // of a user, who may list and create
}

// Paths of PocketBase's API.
const (
	pocketBaseRecords = "/api/collections/categories/records"
	password          = "a password for one run"
)

// ListURL lists the categories of one page, which is all of them.
func (p *PocketBaseServer) ListURL(n int) string {
	return fmt.Sprintf("%s%s?perPage=%d", p.URL, pocketBaseRecords, n)
}

// CreateURL creates a category.
func (p *PocketBaseServer) CreateURL() string { return p.URL + pocketBaseRecords }

// PocketBase starts PocketBase and sets it up through its own API: a collection
// that signed-in users may list and add to, as its documentation suggests, a
// user, and the records.
func PocketBase(ctx context.Context, program, dir string, records []Record) (_ *PocketBaseServer, err error) {
	dir = filepath.Join(dir, "pocketbase")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	data := "--dir=" + filepath.Join(dir, "pb_data")
	const admin = "admin@example.com"
	out, err := exec.CommandContext(ctx, program, "superuser", "upsert", admin, password, data).CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("pocketbase: make a superuser: %w: %s", err, out)
	}
	address, err := freeAddress(ctx)
	if err != nil {
		return nil, err
	}
	server, err := launch(ctx, Launch{Name: "pocketbase", Dir: dir, Path: program, Args: []string{"serve", "--http=" + address, data}}, address, "/api/health")
	if err != nil {
		return nil, err
	}
	p := &PocketBaseServer{Server: *server}
	defer func() {
		if err != nil {
			p.Stop()
		}
	}()
	superuser, err := p.signIn(ctx, "_superusers", admin)
	if err != nil {
		return nil, err
	}
	if err := p.setUp(ctx, superuser); err != nil {
		return nil, err
	}
	if p.Token, err = p.signIn(ctx, "users", "user@example.com"); err != nil {
		return nil, err
	}
	for _, r := range records {
		if err := p.post(ctx, pocketBaseRecords, p.Token, r, nil); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// setUp makes the collection and the user.
func (p *PocketBaseServer) setUp(ctx context.Context, superuser string) error {
	const signedIn = `@request.auth.id != ""`
	collection := map[string]any{
		"name": "categories", "type": "base", "listRule": signedIn, "viewRule": signedIn, "createRule": signedIn,
		"fields": []map[string]any{
			{"name": "name", "type": "text", "required": true, "max": 1000},
			{"name": "description", "type": "text", "max": 10000},
		},
	}
	if err := p.post(ctx, "/api/collections", superuser, collection, nil); err != nil {
		return err
	}
	user := map[string]any{"email": "user@example.com", "password": password, "passwordConfirm": password}
	return p.post(ctx, "/api/collections/users/records", superuser, user, nil)
}

func (p *PocketBaseServer) signIn(ctx context.Context, collection, email string) (token string, err error) {
	var answer struct{ Token string }
	ask := map[string]any{"identity": email, "password": password}
	err = p.post(ctx, "/api/collections/"+collection+"/auth-with-password", "", ask, &answer)
	return answer.Token, err
}

func (p *PocketBaseServer) post(ctx context.Context, path, token string, body, into any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, p.URL+path, bytes.NewReader(text))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	if token != "" {
		r.Header.Set("Authorization", token)
	}
	client := http.Client{Timeout: readyTimeout}
	res, err := client.Do(r)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	answer, err := io.ReadAll(res.Body)
	if err != nil {
		return err
	}
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("pocketbase: POST %s: %s: %s", path, res.Status, answer)
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(answer, into)
}
