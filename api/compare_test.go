package api_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"

	"petcat"
	"petcat/internal/tooltest"
)

// oasdiffLevels makes errors of what oasdiff lets pass and callers of ours would
// notice: a member or header that is left out although it was optional, and
// another operationId, after which generated clients name their methods.
const oasdiffLevels = `response-optional-property-removed err
optional-response-header-removed err
api-operation-id-removed err
`

// refusals returns why a document must not follow the one that was released before
// it.
func refusals(t *testing.T, released, document []byte) []string {
	t.Helper()
	before, now := revision(t, released), revision(t, document)
	var found []string
	switch {
	case bytes.Equal(released, document):
		return nil
	case now == before:
		found = append(found, fmt.Sprintf("the document changed after revision %d was released: set info.x-revision to %d", before, before+1))
	case now != before+1:
		found = append(found, fmt.Sprintf("info.x-revision is %d after %d: revisions are counted one by one", now, before))
	}
	found = append(found, movedSunsets(parse(t, released), parse(t, document))...)
	return append(found, breakingChanges(t, released, document)...)
}

// movedSunsets tells of each published sunset that does not stay. oasdiff lets one be
// postponed, and be moved closer if it stays far enough away, and it does not
// look at experimental operations at all.
func movedSunsets(released, document *openapi3.T) []string {
	today := time.Now().UTC().Format(time.DateOnly)
	var found []string
	for path, item := range released.Paths.Map() {
		for method, o := range item.Operations() {
			published := extension(o, "x-sunset")
			if published == "" {
				continue
			}
			now := operationAt(document, method, path)
			switch {
			case now == nil && today < published:
				found = append(found, fmt.Sprintf("%s is gone before its sunset, %s", o.OperationID, published))
			case now == nil || !now.Deprecated: // its time has come, or it stays after all
			case extension(now, "x-sunset") != published:
				found = append(found, fmt.Sprintf("%s was to end on %s, and now on %q: a sunset does not move. Withdraw the deprecation in one revision, and announce it again in a later one",
					o.OperationID, published, extension(now, "x-sunset")))
			}
		}
	}
	return found
}

// operationAt returns an operation of a document, or nil.
func operationAt(document *openapi3.T, method, path string) *openapi3.Operation {
	item := document.Paths.Value(path)
	if item == nil {
		return nil
	}
	return item.GetOperation(method)
}

// extension returns an operation's extension whose value is a text, or "".
func extension(o *openapi3.Operation, name string) string {
	text, _ := o.Extensions[name].(string)
	return text
}

// oasdiff returns the path of oasdiff, which the first call builds.
var oasdiff = sync.OnceValues(func() (string, error) {
	cmd := exec.Command("go", "tool", "-modfile=../tools/tools.mod", "-n", "oasdiff")
	cmd.Stderr = new(bytes.Buffer)
	path, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("build oasdiff: %w: %s", err, cmd.Stderr)
	}
	return strings.TrimSpace(string(path)), nil
})

// needOasdiff ends a test when oasdiff cannot be built, and when only short tests
// are asked for: to compile it takes a minute.
func needOasdiff(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("it needs oasdiff: make test and make contract run it, make quick does not")
	}
	if _, err := oasdiff(); err != nil {
		tooltest.Missing(t, err.Error())
	}
}

// breakingChanges returns what oasdiff refuses: changes that break callers of stable and
// beta operations, and deprecations of them whose notice, which begins today, is too
// short.
func breakingChanges(t *testing.T, released, document []byte) []string {
	t.Helper()
	path, err := oasdiff()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	file := func(name string, text []byte) string {
		name = filepath.Join(dir, name)
		if err := os.WriteFile(name, text, 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	days := func(s petcat.Stability) string { return strconv.Itoa(int(s.Notice() / (24 * time.Hour))) }
	cmd := exec.CommandContext(t.Context(), path, "breaking", "--fail-on=WARN", "--stability-level=beta",
		"--deprecation-days-stable="+days(petcat.Stable), "--deprecation-days-beta="+days(petcat.Beta),
		"--severity-levels="+file("levels.txt", []byte(oasdiffLevels)),
		file("released.yaml", released), file("document.yaml", document))
	said, err := cmd.CombinedOutput()
	switch failed, ok := errors.AsType[*exec.ExitError](err); {
	case err == nil:
		return nil
	case ok && failed.ExitCode() == 1:
		return []string{"oasdiff says: " + string(said)}
	default:
		t.Fatalf("oasdiff: %v: %s", err, said)
		return nil
	}
}
