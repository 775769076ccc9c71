package archtest

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// The versions of PostgreSQL that petcat promises are said in four places. One
// that is refused or warned about and promised, or promised and tested by
// nothing, is a broken promise to whoever runs it.
func TestDocumentsPromiseTheVersionsThatAreTested(t *testing.T) {
	p := loadProject(t)
	code, scaling := p.read(t, "internal/postgres/connect.go"), p.read(t, "docs/scaling.md")
	oldest, newest := number(t, submatch(t, code, `minVersion\s+= (\d+)_`)), number(t, submatch(t, code, `knownVersion\s+= (\d+)_`))
	promise := fmt.Sprintf("%d to %d", oldest, newest)
	if got := submatch(t, p.read(t, "README.md"), `PostgreSQL \((\d+ to \d+)\)`); got != promise {
		t.Errorf("README.md promises PostgreSQL %s, the code knows %s", got, promise)
	}
	if got := submatch(t, scaling, `\| PostgreSQL \| ([^|]*?) \|`); got != promise {
		t.Errorf("docs/scaling.md promises PostgreSQL %s, the code knows %s", got, promise)
	}

	// Each line of the table names one version that was tested for each that
	// `make test-versions` tests.
	known := submatch(t, p.read(t, "scripts/server-versions"), `(?m)^known=\((.*)\)$`)
	for _, server := range []struct{ name, prefix string }{{"PostgreSQL", "postgres-"}, {"Redis", "redis-"}, {"Valkey", "valkey-"}} {
		told := strings.Split(submatch(t, scaling, `\| `+server.name+` \| [^|]* \| ([^|]*?) \|`), ", ")
		tested := submatches(known, server.prefix+`(\S+)`)
		if !slices.EqualFunc(told, tested, func(told, tested string) bool { return strings.HasPrefix(told, tested+".") }) {
			t.Errorf("docs/scaling.md says that %s %v were tested, scripts/server-versions tests %v", server.name, told, tested)
		}
	}
	for version := oldest; version <= newest; version++ {
		if name := fmt.Sprintf("postgres-%d", version); !slices.Contains(strings.Fields(known), name) {
			t.Errorf("scripts/server-versions does not test %s", name)
		}
	}
	if oldest >= newest {
		t.Errorf("the code knows PostgreSQL %s", promise)
	}
}
