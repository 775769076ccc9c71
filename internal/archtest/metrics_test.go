package archtest

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gopkg.in/yaml.v3"

	"petcat/internal/tooltest"
)

// TestMetricsAreNamedAsTheyAre: an alert on a metric that does not exist, or on a
// label or value that no source spells out, never fires, and nobody notices.
func TestMetricsAreNamedAsTheyAre(t *testing.T) {
	const name = `petcat_[a-z_]*[a-z]`
	p := loadProject(t)
	var spelt []string // texts in quotes
	for _, file := range p.matching(t, sources) {
		if !strings.HasSuffix(file, "_test.go") && !strings.Contains(file, "test/") {
			spelt = append(spelt, submatches(p.read(t, file), `"([A-Za-z_]+)"`)...)
		}
	}
	fromPrometheus := regexp.MustCompile(`\b(job|instance|le)\b([!=~]+\\?"[^"]*")?`)
	series := regexp.MustCompile(`\b(` + name + `)\b(?:\{([^}]*)\})?`)
	for _, file := range append(p.matching(t, `^deploy/`), "docs/operations.md", "docs/scaling.md") {
		for _, m := range series.FindAllStringSubmatch(p.read(t, file), -1) {
			base := regexp.MustCompile(`_(bucket|sum|count)$`).ReplaceAllString(m[1], "")
			if !slices.Contains(spelt, m[1]) && !slices.Contains(spelt, base) {
				t.Errorf("%s: there is no metric %s", file, m[1])
			}
			ours := fromPrometheus.ReplaceAllString(m[2], "")
			for _, word := range regexp.MustCompile(`[A-Za-z_]+`).FindAllString(ours, -1) {
				if !slices.Contains(spelt, word) {
					t.Errorf("%s: %s: no source spells out %s", file, m[0], word)
				}
			}
		}
	}
	told, tests := p.read(t, "docs/operations.md"), p.text(t, `_test\.go$`)
	for _, metric := range submatches(p.text(t, `^(cmd/petcat|internal/(metrics|server))/[a-z_]*[^t]\.go$`), `"(`+name+`)"`) {
		if !regexp.MustCompile("`" + metric + `\b`).MatchString(told) {
			t.Errorf("docs/operations.md does not tell of `%s`", metric)
		}
		if !regexp.MustCompile(`\b` + metric + `(_sum|_count)?\b`).MatchString(tests) {
			t.Errorf("no test looks at `%s`, when something is wrong or at all", metric)
		}
	}
}

// TestAlertsTellWhatToDo: whoever is woken finds a line to begin with.
func TestAlertsTellWhatToDo(t *testing.T) {
	p := loadProject(t)
	rules := submatches(p.read(t, "deploy/prometheus/alerts.yaml"), `(?m)^\s*- alert: (\S+)$`)
	told := submatches(p.read(t, "docs/operations.md"), "(?m)^\\| `(Petcat[A-Za-z]+)` \\| \\S")
	if diff := cmp.Diff(rules, told); diff != "" || len(rules) == 0 {
		t.Errorf("the alerts, and what docs/operations.md says to do about them (-rules +told):\n%s", diff)
	}
	submatch(t, p.read(t, "deploy/prometheus/prometheus.yaml"), `rule_files:\n\s*- (alerts\.yaml)\n`)
}

// TestAlertsFire runs the tests of the alerts, of which each has to fire in one: an alert
// that never fires looks like one that never had to.
func TestAlertsFire(t *testing.T) {
	p := loadProject(t)
	var cases struct {
		Tests []struct {
			Alerts []struct {
				Name  string `yaml:"alertname"`
				Fires []any  `yaml:"exp_alerts"`
			} `yaml:"alert_rule_test"`
		}
	}
	if err := yaml.Unmarshal([]byte(p.read(t, "deploy/prometheus/alerts_test.yaml")), &cases); err != nil {
		t.Fatal(err)
	}
	fires := map[string]bool{}
	for _, c := range cases.Tests {
		for _, alert := range c.Alerts {
			fires[alert.Name] = fires[alert.Name] || len(alert.Fires) > 0
		}
	}
	for _, alert := range submatches(p.read(t, "deploy/prometheus/alerts.yaml"), `(?m)^\s*- alert: (\S+)$`) {
		if !fires[alert] {
			t.Errorf("%s fires in no test of deploy/prometheus/alerts_test.yaml", alert)
		}
	}
	promtool := tooltest.Find(t, "promtool", "prometheus")
	dir := filepath.Join(p.root, "deploy/prometheus")
	for _, args := range [][]string{{"check", "rules", "alerts.yaml"}, {"test", "rules", "alerts_test.yaml"}} {
		cmd := exec.CommandContext(t.Context(), promtool, args...)
		cmd.Dir = dir
		if said, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("promtool %v: %v\n%s", args, err, said)
		}
	}
}
