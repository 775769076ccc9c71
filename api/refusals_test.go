package api_test

import (
	"strings"
	"testing"
	"time"
)

// edit changes a document.
type edit func(t *testing.T, document string) string

func edited(t *testing.T, document string, edits ...edit) string {
	t.Helper()
	for _, e := range edits {
		document = e(t, document)
	}
	return document
}

// replace puts a text in the place of one that stands there exactly once.
func replace(old, replacement string) edit {
	return func(t *testing.T, document string) string {
		t.Helper()
		if n := strings.Count(document, old); n != 1 {
			t.Fatalf("%q stands there %d times", old, n)
		}
		return strings.Replace(document, old, replacement, 1)
	}
}

// between returns what stands between two texts.
func between(t *testing.T, document, begin, end string) string {
	t.Helper()
	_, rest, began := strings.Cut(document, begin)
	found, _, ended := strings.Cut(rest, end)
	if !began || !ended {
		t.Fatalf("nothing stands between %q and %q", begin, end)
	}
	return found
}

// The first revision's createCategory is what the tests change.
const createID = "operationId: createCategory\n"

// marked gives it another stability.
func marked(word, level string) edit {
	const marks, next = "      x-stability: %\n      x-stability-level: %\n", "      parameters:\n        - name: Idempotency-Key\n"
	return replace(strings.ReplaceAll(marks, "%", "stable")+next, "      x-stability: "+word+"\n      x-stability-level: "+level+"\n"+next)
}

// deprecation returns the marks of one whose sunset is so many days ahead.
func deprecation(days int) string {
	return "      deprecated: true\n      x-sunset: '" + time.Now().UTC().AddDate(0, 0, days).Format(time.DateOnly) + "'\n"
}

func deprecated(days int) edit { return replace(createID, createID+deprecation(days)) }

// moved moves its sunset from so many days ahead to others.
func moved(from, to int) edit { return replace(deprecation(from), deprecation(to)) }

// gone takes it out.
func gone(t *testing.T, document string) string {
	t.Helper()
	return edited(t, document, replace("\n    post:\n"+between(t, document, "\n    post:\n", "\ncomponents:\n"), ""))
}

// another adds an operation in beta.
func another(t *testing.T, document string) string {
	t.Helper()
	list := strings.NewReplacer("listCategories", "listOthers", ": stable\n", ": beta\n").Replace(between(t, document, "\n    get:\n", "\n    post:\n"))
	return edited(t, document, replace("\ncomponents:\n", "\n  /others:\n    get:\n"+list+"\ncomponents:\n"))
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	needOasdiff(t)
	first := string(readFile(t, releasedName(1)))
	member := "        description:\n" + between(t, first, "description: The name, exactly as it was sent.\n        description:\n", "    NewCategory:\n")
	const header = "            Age: {$ref: '#/components/headers/Age'}\n"
	list := between(t, first, "\n        '200':\n", "          content:\n")

	next := replace("x-revision: 1\n", "x-revision: 2\n")
	words := replace("summary: List all categories", "summary: List them all")
	required := replace("- name: Idempotency-Key\n", "- name: Idempotency-Key\n          required: true\n")
	beta, experimental := marked("beta", "beta"), marked("experimental", "alpha")

	for _, c := range []struct {
		name          string
		before, after []edit   // of the first revision, which is then released; and of that
		want          []string // parts of what is said; nothing is, without them
	}{
		{"nothing changed", nil, nil, nil},
		{"other words", nil, []edit{next, words}, nil},
		{"another operation", nil, []edit{next, another}, nil},

		{"changed, with the same revision", nil, []edit{words}, []string{"set info.x-revision to 2"}},
		{"a revision is left out", nil, []edit{replace("x-revision: 1\n", "x-revision: 3\n")}, []string{"info.x-revision is 3 after 1"}},
		{"a revision goes back", []edit{next}, []edit{replace("x-revision: 2\n", "x-revision: 1\n")}, []string{"info.x-revision is 1 after 2"}},

		{"a parameter becomes required", nil, []edit{next, required}, []string{"request-parameter-became-required"}},
		{"a parameter goes", nil, []edit{next, replace("- name: Idempotency-Key\n", "- name: Idempotency-Token\n")}, []string{"request-parameter-removed"}},
		{"an optional member goes", nil, []edit{next, replace(member, "")}, []string{"response-optional-property-removed"}},
		{"an optional header goes", nil, []edit{next, replace(list, strings.Replace(list, header, "", 1))}, []string{"optional-response-header-removed"}},
		{"an operation is renamed", nil, []edit{next, replace(createID, "operationId: addCategory\n")}, []string{"api-operation-id-removed"}},
		{"an operation goes", nil, []edit{next, gone}, []string{"api-removed-without-deprecation"}},
		{"a beta operation goes", []edit{beta}, []edit{next, gone}, []string{"api-removed-without-deprecation"}},
		{"an experimental operation changes", []edit{experimental}, []edit{next, required}, nil},
		{"an experimental operation goes", []edit{experimental}, []edit{next, gone}, nil},

		{"180 days' notice", nil, []edit{next, deprecated(181)}, nil}, // one more, in case midnight comes in between
		{"179 days' notice", nil, []edit{next, deprecated(179)}, []string{"api-sunset-date-too-small"}},
		{"no sunset", nil, []edit{next, replace(createID, createID+"      deprecated: true\n")}, []string{"api-deprecated-sunset-missing"}},
		{"beta, 30 days' notice", []edit{beta}, []edit{next, deprecated(31)}, nil},
		{"beta, 29 days' notice", []edit{beta}, []edit{next, deprecated(29)}, []string{"api-sunset-date-too-small"}},
		{"experimental, no notice", []edit{experimental}, []edit{next, deprecated(0)}, nil},
		{"less notice by less stability", nil, []edit{next, beta}, []string{"api-stability-decreased"}},

		{"a sunset moves closer", []edit{deprecated(400)}, []edit{next, moved(400, 399)}, []string{"a sunset does not move"}},
		{"a sunset moves close", []edit{deprecated(400)}, []edit{next, moved(400, 9)}, []string{"a sunset does not move", "api-sunset-date-changed-too-small"}},
		{"a sunset is postponed", []edit{deprecated(400)}, []edit{next, moved(400, 401)}, []string{"a sunset does not move"}},
		{"a sunset goes", []edit{deprecated(400)}, []edit{next, replace(deprecation(400), "      deprecated: true\n")}, []string{"a sunset does not move", "sunset-deleted"}},
		{"experimental, its sunset moves", []edit{experimental, deprecated(400)}, []edit{next, moved(400, 399)}, []string{"a sunset does not move"}},
		{"gone before its sunset", []edit{deprecated(400)}, []edit{next, gone}, []string{"createCategory is gone before its sunset", "api-removed-before-sunset"}},
		{"experimental, gone before its sunset", []edit{experimental, deprecated(2)}, []edit{next, gone}, []string{"createCategory is gone before its sunset"}},
		{"gone at its sunset", []edit{deprecated(-1)}, []edit{next, gone}, nil},
		{"a deprecation is withdrawn", []edit{deprecated(10)}, []edit{next, replace(deprecation(10), "")}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			before := edited(t, first, c.before...)
			said := strings.Join(refusals(t, []byte(before), []byte(edited(t, before, c.after...))), "\n")
			if len(c.want) == 0 && said != "" {
				t.Errorf("refused: %s", said)
			}
			for _, part := range c.want {
				if !strings.Contains(said, part) {
					t.Errorf("%q is not among the refusals:\n%s", part, said)
				}
			}
		})
	}
}
