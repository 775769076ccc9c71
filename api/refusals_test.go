package api_test

import (
	"strings"
	"testing"
	"time"
)

// edit is a change of a document: what stands there exactly once, and what comes in its
// place.
type edit struct{ old, replacement string }

func edited(t *testing.T, document string, edits ...edit) string {
	t.Helper()
	for _, e := range edits {
		if n := strings.Count(document, e.old); n != 1 {
			t.Fatalf("%q stands there %d times", e.old, n)
		}
		document = strings.Replace(document, e.old, e.replacement, 1)
	}
	return document
}

// The operations of the first revision, as far as they are told apart.
const (
	listIs   = "      x-stability: stable\n      x-stability-level: stable\n      parameters:\n        - name: If-None-Match\n"
	createIs = "      x-stability: stable\n      x-stability-level: stable\n      parameters:\n        - name: Idempotency-Key\n"
)

// stability marks createCategory.
func stability(word, level string) edit {
	return edit{createIs, strings.NewReplacer("stability: stable", "stability: "+word, "level: stable", "level: "+level).Replace(createIs)}
}

// deprecates marks an operation as deprecated. The days are those until its sunset;
// there is none without them.
func deprecates(operationID string, days ...int) edit {
	marks := "operationId: " + operationID + "\n"
	e := edit{marks, marks + "      deprecated: true\n"}
	for _, n := range days {
		e.replacement += "      x-sunset: '" + time.Now().UTC().AddDate(0, 0, n).Format(time.DateOnly) + "'\n"
	}
	return e
}

func TestRefusals(t *testing.T) {
	needOasdiff(t)
	first := string(readFile(t, releasedName(1)))
	_, create, _ := strings.Cut(first, "\n    post:\n")
	create, _, _ = strings.Cut("\n    post:\n"+create, "\ncomponents:\n")
	_, list, _ := strings.Cut(first, "\n    get:\n")
	list, _, _ = strings.Cut("\n    get:\n"+list, "\n    post:\n")

	next := edit{"x-revision: 1\n", "x-revision: 2\n"}
	description := edit{"          description: The description, exactly as it was sent. Absent when the category was created without one.\n", ""}
	untyped := edit{"        description:\n          type: string\n          maxLength: 10000\n          pattern: '^[^\\x00-\\x08\\x0b\\x0c\\x0e-\\x1f\\x7f-\\x9f]*$'\n    NewCategory:\n", "    NewCategory:\n"}
	required := edit{"      required: [name]\n", "      required: [name, description]\n"}
	gone := edit{create, ""}
	beta, experimental := stability("beta", "beta"), stability("experimental", "alpha")
	another := edit{"\ncomponents:\n", "\n  /another:" + strings.NewReplacer("listCategories", "another", "ability: stable", "ability: beta", "level: stable", "level: beta").Replace(list) + "\ncomponents:\n"}

	for _, c := range []struct {
		name             string
		before           []edit // of the first revision, released
		after            []edit // of that
		refusal, another string // parts of what is said; "" for none
	}{
		{name: "nothing changed"},
		{name: "an operation is new", after: []edit{next, another}},
		{name: "words changed", after: []edit{next, {"summary: List all categories", "summary: List them all"}}},

		{name: "changed, with the same revision", after: []edit{{"summary: List all categories", "summary: List them all"}}, refusal: "set info.x-revision to 2"},
		{name: "a revision is left out", after: []edit{{"x-revision: 1\n", "x-revision: 3\n"}}, refusal: "info.x-revision is 3 after 1"},
		{name: "a revision goes back", before: []edit{next}, after: []edit{{"x-revision: 2\n", "x-revision: 1\n"}}, refusal: "info.x-revision is 1 after 2"},

		{name: "a member becomes required", after: []edit{next, required}, refusal: "request-property-became-required"},
		{name: "an optional member goes", after: []edit{next, description, untyped}, refusal: "response-optional-property-removed", another: "request-property-"},
		{name: "an optional header goes", after: []edit{next, {"            Age: {$ref: '#/components/headers/Age'}\n            X-Stability: {$ref: '#/components/headers/X-Stability'}\n            X-Request-Id: {$ref: '#/components/headers/X-Request-Id'}\n          content:", "            X-Stability: {$ref: '#/components/headers/X-Stability'}\n            X-Request-Id: {$ref: '#/components/headers/X-Request-Id'}\n          content:"}}, refusal: "optional-response-header-removed"},
		{name: "a parameter goes", after: []edit{next, {"        - name: Idempotency-Key\n", "        - name: Idempotency-Token\n"}}, refusal: "request-parameter-removed"},
		{name: "an operation is renamed", after: []edit{next, {"operationId: createCategory", "operationId: addCategory"}}, refusal: "api-operation-id-removed"},
		{name: "an operation goes", after: []edit{next, gone}, refusal: "api-removed-without-deprecation"},
		{name: "a beta operation goes", before: []edit{beta}, after: []edit{next, gone}, refusal: "api-removed-without-deprecation"},
		{name: "an experimental operation changes and goes", before: []edit{experimental}, after: []edit{next, required, gone}},

		{name: "deprecated, with 180 days' notice", after: []edit{next, deprecates("createCategory", 181)}}, // one more, if midnight comes in between
		{name: "deprecated, with 179 days' notice", after: []edit{next, deprecates("createCategory", 179)}, refusal: "api-sunset-date-too-small"},
		{name: "deprecated, without a sunset", after: []edit{next, deprecates("createCategory")}, refusal: "api-deprecated-sunset-missing"},
		{name: "beta, with 30 days' notice", before: []edit{beta}, after: []edit{next, deprecates("createCategory", 31)}},
		{name: "beta, with 29 days' notice", before: []edit{beta}, after: []edit{next, deprecates("createCategory", 29)}, refusal: "api-sunset-date-too-small"},
		{name: "experimental, without notice", before: []edit{experimental}, after: []edit{next, deprecates("createCategory", 0)}},
		{name: "notice is shortened by less stability", after: []edit{next, beta}, refusal: "api-stability-decreased"},

		{name: "a sunset moves closer", before: []edit{deprecates("createCategory", 400)}, after: []edit{next, moves(400, 399)}, refusal: "a sunset does not move"},
		{name: "a sunset moves close", before: []edit{deprecates("createCategory", 400)}, after: []edit{next, moves(400, 10)}, refusal: "a sunset does not move", another: "api-sunset-date-changed-too-small"},
		{name: "a sunset is postponed", before: []edit{deprecates("createCategory", 400)}, after: []edit{next, moves(400, 401)}, refusal: "a sunset does not move"},
		{name: "a sunset goes", before: []edit{deprecates("createCategory", 400)}, after: []edit{next, {deprecates("createCategory", 400).replacement, deprecates("createCategory").replacement}}, refusal: "a sunset does not move", another: "sunset-deleted"},
		{name: "an experimental operation's sunset moves", before: []edit{experimental, deprecates("createCategory", 400)}, after: []edit{next, moves(400, 399)}, refusal: "a sunset does not move"},
		{name: "an operation goes before its sunset", before: []edit{deprecates("createCategory", 400)}, after: []edit{next, {edited(t, create, deprecates("createCategory", 400)), ""}}, refusal: "createCategory is gone before its sunset", another: "api-removed-before-sunset"},
		{name: "an experimental one goes before its sunset", before: []edit{experimental, deprecates("createCategory", 2)}, after: []edit{next, {edited(t, create, experimental, deprecates("createCategory", 2)), ""}}, refusal: "createCategory is gone before its sunset"},
		{name: "an operation goes at its sunset", before: []edit{deprecates("createCategory", -1)}, after: []edit{next, {edited(t, create, deprecates("createCategory", -1)), ""}}},
		{name: "a deprecation is withdrawn", before: []edit{deprecates("createCategory", 10)}, after: []edit{next, {deprecates("createCategory", 10).replacement, "operationId: createCategory\n"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			before := edited(t, first, c.before...)
			said := strings.Join(refusals(t, []byte(before), []byte(edited(t, before, c.after...))), "\n")
			if c.refusal == "" && said != "" || !strings.Contains(said, c.refusal) || !strings.Contains(said, c.another) {
				t.Errorf("refusals: %q\nwant %q %q", said, c.refusal, c.another)
			}
		})
	}
}

// moves moves createCategory's sunset from so many days ahead to others.
func moves(from, to int) edit {
	return edit{deprecates("createCategory", from).replacement, deprecates("createCategory", to).replacement}
}
