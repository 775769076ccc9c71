package archtest

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// The versions of PostgreSQL that petcat promises are said in four places. One
// that is refused or warned about and promised, or promised and tested by
// nothing, is a broken promise to whoever runs it.
func TestPapersPromiseTheVersionsThatAreTested(t *testing.T) {
	p := loadProject(t)
	find := func(file, pattern string) string {
		t.Helper()
		m := regexp.MustCompile(pattern).FindStringSubmatch(p.read(t, file))
		if m == nil {
			t.Fatalf("%s has nothing that looks like %s", file, pattern)
		}
		return m[1]
	}
	number := func(file, pattern string) int {
		t.Helper()
		n, err := strconv.Atoi(find(file, pattern))
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	oldest := number("internal/postgres/connect.go", `minVersion\s+= (\d+)_`)
	newest := number("internal/postgres/connect.go", `knownVersion\s+= (\d+)_`)
	if oldest >= newest {
		t.Fatalf("the code knows PostgreSQL %d to %d", oldest, newest)
	}
	promise := fmt.Sprintf("%d to %d", oldest, newest)
	if got := find("README.md", `PostgreSQL \((\d+ to \d+)\)`); got != promise {
		t.Errorf("README.md promises PostgreSQL %s, the code knows %s", got, promise)
	}
	if got := find("docs/scaling.md", `\| PostgreSQL \| ([^|]*?) \|`); got != promise {
		t.Errorf("docs/scaling.md promises PostgreSQL %s, the code knows %s", got, promise)
	}

	// Each line of the table names one version that was tested for each that
	// `make test-versions` tests.
	known := strings.Fields(find("scripts/server-versions", `(?m)^known=\((.*)\)$`))
	for server, prefix := range map[string]string{"PostgreSQL": "postgres-", "Redis": "redis-", "Valkey": "valkey-"} {
		tested := strings.Split(find("docs/scaling.md", `\| `+server+` \| [^|]* \| ([^|]*?) \|`), ", ")
		var of []string
		for _, name := range known {
			if version, is := strings.CutPrefix(name, prefix); is {
				of = append(of, version)
			}
		}
		same := slices.EqualFunc(tested, of, func(tested, of string) bool { return strings.HasPrefix(tested, of+".") })
		if !same {
			t.Errorf("docs/scaling.md says that %s %v were tested, scripts/server-versions tests %v", server, tested, of)
		}
	}
	for version := oldest; version <= newest; version++ {
		if name := fmt.Sprintf("postgres-%d", version); !slices.Contains(known, name) {
			t.Errorf("scripts/server-versions does not test %s", name)
		}
	}
}
