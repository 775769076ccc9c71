package e2e

import (
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"petcat"
	"petcat/internal/tooltest"
)

// exercise is what the programs in testdata/clients/go and testdata/clients/typescript
// print: what their calls brought.
type exercise struct {
	Before                          []described
	Created, Repeated, Got, Updated described
	Replayed                        string // the header Idempotent-Replayed
	Plan                            string
	Windows                         []string
	Banned                          bool
	Stale, Unnamed, Missing, InUse  refusal
	Pets                            []pet
	Ordered                         order
	Orders                          []order
	Deleted                         int // the status
	// Refused is a call with a key whose day is spent, the next four are its headers.
	Refused                             refusal
	Limit, Remaining, Reset, RetryAfter int64
}

type described struct {
	ID          int64
	Name        string
	Description *string
}

type pet struct {
	ID       int64
	Category int64 `json:"category_id"`
	Name     string
}

type order struct {
	ID       int64
	Pet      int64 `json:"pet_id"`
	Quantity int64
}

// refusal is an error of the API without its message, which may change.
type refusal struct {
	Status int
	Code   petcat.Code
}

// TestGeneratedClients: the clients that public generators make of the served document
// compile, and their users get what the document promises.
func TestGeneratedClients(t *testing.T) {
	t.Parallel()
	awaitRoomInDay(t, 2*time.Minute)

	t.Run("TypeScript", func(t *testing.T) {
		t.Parallel()
		node := tooltest.Find(t, "node", "nodejs")
		programs := filepath.Join(nodeModules(t), ".bin")
		s, dir := serve(t, filepath.Join(t.TempDir(), "data")), sourcesOf(t, "typescript")
		must(t, os.Symlink(nodeModules(t), filepath.Join(dir, "node_modules")))
		outputOf(t, dir, filepath.Join(programs, "openapi-typescript"), s.api+"/openapi.json", "--output", "schema.mts")
		outputOf(t, dir, filepath.Join(programs, "tsc"))
		s.exercise(dir, node, "client.mjs")
	})
	t.Run("Go", func(t *testing.T) {
		t.Parallel()
		s, dir := serve(t, filepath.Join(t.TempDir(), "data")), sourcesOf(t, "go")
		generated := filepath.Join(dir, "api.gen.go")
		outputOf(t, ".", "go", "tool", "-modfile=../tools/tools.mod", "oapi-codegen",
			"-config", filepath.Join(dir, "oapi-codegen.yaml"), "-o", generated, s.api+"/openapi.json")
		outputOf(t, dir, "go", "build", "-o", "client", ".")
		s.exercise(dir, "./client")
	})
}

// exercise has a client use the server, and checks what it got.
func (s *server) exercise(dir, program string, args ...string) {
	s.t.Helper()
	openAccount(s.t, s.data, "spent", "enterprise", "--per-minute", "1000", "--per-day", "1")
	_, spent := issueKey(s.t, s.data, "spent")
	wantStatus(s.t, s.list(spent), http.StatusOK)
	key := newCaller(s.t, s.data)
	first := s.mustCreate(key, "Dogs")

	var got exercise
	must(s.t, json.Unmarshal([]byte(outputOf(s.t, dir, program, append(args, s.api+"/v1", key, spent)...)), &got))

	notDogs := "Not dogs"
	wolves := described{ID: got.Created.ID, Name: "Wolves", Description: &notDogs}
	want := exercise{
		Before:  []described{{ID: first, Name: "Dogs"}},
		Created: wolves, Repeated: wolves, Got: wolves, Updated: described{ID: wolves.ID, Name: wolves.Name},
		Replayed: "true",
		Plan:     "enterprise", Windows: []string{"minute", "day"},
		Stale:     refusal{http.StatusPreconditionFailed, petcat.CodePreconditionFailed},
		Unnamed:   refusal{http.StatusBadRequest, petcat.CodeMissingField},
		Missing:   refusal{http.StatusNotFound, petcat.CodeNotFound},
		InUse:     refusal{http.StatusConflict, petcat.CodeCategoryInUse},
		Pets:      []pet{{1, first, "Rex"}},
		Ordered:   order{1, 1, 2},
		Orders:    []order{{1, 1, 2}},
		Deleted:   http.StatusNoContent,
		Refused:   refusal{http.StatusTooManyRequests, petcat.CodeDailyQuotaExceeded},
		Limit:     1,
		Remaining: 0,
		Reset:     petcat.Day.Reset(petcat.Day.Index(time.Now().Unix())),
		// Up to a minute more than the day lasts.
		RetryAfter: got.RetryAfter,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		s.t.Errorf("(-want +got)\n%s", diff)
	}
	if wait := got.Reset - time.Now().Unix(); got.RetryAfter < wait || got.Created.ID <= first {
		s.t.Errorf("Retry-After is %d with %d s of the day left; the id %d follows %d", got.RetryAfter, wait, got.Created.ID, first)
	}
	if left := s.categories(key); len(left) != 1 || left[0].ID != first {
		s.t.Errorf("the server has %v", left)
	}
}

// sourcesOf returns a folder of the test's own, with the sources of a client.
func sourcesOf(t *testing.T, language string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	must(t, os.CopyFS(dir, os.DirFS(filepath.Join("testdata", "clients", language))))
	return dir
}

// nodeModules returns where the npm packages are that tests use.
func nodeModules(t *testing.T) (dir string) {
	t.Helper()
	dir, err := filepath.Abs("../tools/clients/node_modules")
	must(t, err)
	if _, err := os.Stat(dir); err != nil {
		tooltest.Missing(t, "npm packages are missing; npm --prefix tools/clients ci installs them, and so does make test")
	}
	return dir
}

// outputOf runs a program in a folder, which has to succeed.
func outputOf(t testing.TB, dir, program string, args ...string) (stdout string) {
	t.Helper()
	cmd := exec.Command(program, args...)
	cmd.Dir = dir
	out, err := cmd.Output()
	if exit := new(exec.ExitError); errors.As(err, &exit) {
		t.Fatalf("%s: %v\n%s%s", cmd, err, out, exit.Stderr)
	}
	must(t, err)
	return string(out)
}
