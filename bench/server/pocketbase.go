package server

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"petcat/bench/seed"
)

// PocketBaseRecords is the path of the categories: of one page, which with
// ?perPage= is all of them.
const PocketBaseRecords = "/api/collections/categories/records"

const password = "a password for one run"

// PocketBase starts PocketBase and sets it up through its own API: a collection
// that signed-in users may list and add to, as its documentation suggests, a
// user, and the records.
func PocketBase(ctx context.Context, path, dir string, records []seed.Record) (p *Server, err error) {
	dir = filepath.Join(dir, "pocketbase")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	data := "--dir=" + filepath.Join(dir, "pb_data")
	const admin = "admin@example.com"
	out, err := exec.CommandContext(ctx, path, "superuser", "upsert", admin, password, data).CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("pocketbase: make a superuser: %w: %s", err, out)
	}
	address, err := freeAddress(ctx)
	if err != nil {
		return nil, err
	}
	p, err = program{name: "pocketbase", dir: dir, path: path, args: []string{"serve", "--http=" + address, data}}.start(ctx, "http://"+address)
	if err != nil {
		return nil, err
	}
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
		if err := p.post(ctx, PocketBaseRecords, p.Token, r, nil); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// setUp makes the collection and the user.
func (s *Server) setUp(ctx context.Context, superuser string) error {
	const signedIn = `@request.auth.id != ""`
	collection := map[string]any{
		"name": "categories", "type": "base", "listRule": signedIn, "viewRule": signedIn, "createRule": signedIn,
		"fields": []map[string]any{
			{"name": "name", "type": "text", "required": true, "max": 1000},
			{"name": "description", "type": "text", "max": 10000},
		},
	}
	if err := s.post(ctx, "/api/collections", superuser, collection, nil); err != nil {
		return err
	}
	user := map[string]any{"email": "user@example.com", "password": password, "passwordConfirm": password}
	return s.post(ctx, "/api/collections/users/records", superuser, user, nil)
}

func (s *Server) signIn(ctx context.Context, collection, email string) (token string, err error) {
	var answer struct{ Token string }
	ask := map[string]any{"identity": email, "password": password}
	err = s.post(ctx, "/api/collections/"+collection+"/auth-with-password", "", ask, &answer)
	return answer.Token, err
}

func (s *Server) post(ctx context.Context, path, token string, body, into any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	header := []string{"Content-Type: application/json"}
	if token != "" {
		header = append(header, "Authorization: "+token)
	}
	a, err := Ask(ctx, "POST", s.URL+path, header, text)
	if err == nil && a.Status != 200 {
		err = fmt.Errorf("pocketbase: POST %s: %d: %s", path, a.Status, a.Body)
	}
	if err != nil || into == nil {
		return err
	}
	return json.Unmarshal(a.Body, into)
}
