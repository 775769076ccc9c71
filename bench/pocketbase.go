package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

const (
	password  = "a password for one run"
	adminName = "admin@example.com"
	userName  = "user@example.com"
)

// pocketBase is a running PocketBase.
type pocketBase struct {
	*process
	header []string // credentials of a user that may list and create
}

// pocketBase starts PocketBase and sets it up through its own API: a user, categories, and
// access rules that let signed-in users list and create, as its documentation suggests.
func (b *bench) pocketBase(ctx context.Context) (*pocketBase, error) {
	dir, err := os.MkdirTemp(b.work, "pocketbase-")
	if err != nil {
		return nil, err
	}
	program, data := b.program("pocketbase"), "--dir="+filepath.Join(dir, "pb_data")
	out, err := exec.CommandContext(ctx, program, "superuser", "upsert", adminName, password, data).CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("pocketbase: create a superuser: %w: %s", err, out)
	}
	address := freeAddress()
	url := "http://" + address
	p, err := b.start(ctx, launch{
		dir:   dir,
		path:  program,
		args:  []string{"serve", "--http=" + address, data},
		url:   url,
		ready: responds(ctx, url+"/api/health"),
	})
	if err != nil {
		return nil, err
	}
	pb := &pocketBase{p, []string{contentType}}
	return pb, pb.setUp(ctx)
}

func (p *pocketBase) setUp(ctx context.Context) error {
	const signedIn = `@request.auth.id != ""`
	type object = map[string]any
	steps := []struct {
		path string
		body any
	}{
		{"/api/collections/_superusers/auth-with-password", object{"identity": adminName, "password": password}},
		{"/api/collections", object{
			"name": "categories", "type": "base", "listRule": signedIn, "viewRule": signedIn, "createRule": signedIn,
			"fields": []object{
				{"name": "name", "type": "text", "required": true, "max": 1000},
				{"name": "description", "type": "text", "max": 10000},
			},
		}},
		{"/api/collections/users/records", object{
			"email":           userName,
			"password":        password,
			"passwordConfirm": password,
		}},
		{"/api/collections/users/auth-with-password", object{"identity": userName, "password": password}},
	}
	for _, s := range steps {
		a, err := p.post(s.path, marshal(s.body)).send(ctx)
		if err != nil {
			return err
		}
		var signed struct{ Token string }
		if err := json.Unmarshal(a.body, &signed); err != nil {
			return err
		}
		if signed.Token != "" { // the next requests use this session
			p.header = []string{contentType, "Authorization: " + signed.Token}
		}
	}
	for i := range few {
		if _, err := p.post(records, marshal(categoryNumber(i+1))).send(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (p *pocketBase) post(path, body string) request {
	return request{method: "POST", url: p.url + path, header: p.header, body: body, status: 200}
}

const records = "/api/collections/categories/records"

func (p *pocketBase) create() request { return p.post(records, marshal(categoryNumber(1))) }

// list requests all ten categories on one page.
func (p *pocketBase) list() request {
	return request{
		method: "GET",
		url:    fmt.Sprintf("%s%s?perPage=%d", p.url, records, few),
		header: p.header,
		status: 200,
	}
}
