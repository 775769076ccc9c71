package archtest

import (
	"go/ast"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"petcat"
)

// metric is one of the program's.
type metric struct {
	histogram bool
	labels    []string
}

var metricName = regexp.MustCompile(`^petcat_[a-z_]*[a-z]$`)

// metrics returns the metrics that the sources name.
func (p *project) metrics(t *testing.T) map[string]metric {
	t.Helper()
	all := map[string]metric{}
	// The only ones that know the metrics library, and that name what is looked up.
	for _, importPath := range []string{binary, module + "/internal/metrics"} {
		_, files := p.sources(t, p.find(t, importPath))
		for _, name := range sorted(files) {
			ast.Inspect(files[name], func(n ast.Node) bool {
				if e, ok := n.(ast.Expr); ok && metricName.MatchString(text(e)) {
					note(all, text(e), metric{})
				}
				if call, ok := n.(*ast.CallExpr); ok {
					noteMetric(all, call)
				}
				return true
			})
		}
	}
	if len(all) == 0 {
		t.Fatal("no metric found in the sources")
	}
	return all
}

// noteMetric adds what a call such as NewHistogramVec(Opts{Name: ...}, labels)
// tells of a metric.
func noteMetric(all map[string]metric, call *ast.CallExpr) {
	fun, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || !strings.HasPrefix(fun.Sel.Name, "New") || len(call.Args) == 0 {
		return
	}
	options, ok := call.Args[0].(*ast.CompositeLit)
	if !ok {
		return
	}
	name := text(fieldsOf(options)["Name"])
	if !metricName.MatchString(name) {
		return
	}
	m := metric{histogram: strings.HasPrefix(fun.Sel.Name, "NewHistogram")}
	if len(call.Args) > 1 {
		if labels, ok := call.Args[1].(*ast.CompositeLit); ok {
			for _, label := range labels.Elts {
				m.labels = append(m.labels, text(label))
			}
		}
	}
	note(all, name, m)
}

// note adds a metric, or what was not known of it yet.
func note(all map[string]metric, name string, m metric) {
	known := all[name]
	all[name] = metric{known.histogram || m.histogram, append(known.labels, m.labels...)}
}

// labelValues are what a label may be, of those whose values the domain knows.
func labelValues() map[string][]string {
	values := map[string][]string{
		"operation": {"none"},
		"mode":      {string(petcat.EnforceBans), string(petcat.ShadowBans)},
	}
	for _, o := range petcat.Operations() {
		values["operation"] = append(values["operation"], string(o.ID))
	}
	for _, c := range petcat.Codes() {
		values["reason"] = append(values["reason"], string(c))
	}
	return values
}

var (
	series  = regexp.MustCompile(`\b(petcat_[a-z_]*[a-z])\b(?:\{([^}]*)\})?`)
	matcher = regexp.MustCompile(`([a-z_]+)(?:=~|!=|!~|=)?(?:\\?"([^"\\]*)\\?")?`)
)

// TestMetricsAreNamedAsTheyAre: an alert on a metric that does not exist never
// fires, and nobody notices.
func TestMetricsAreNamedAsTheyAre(t *testing.T) {
	p := loadProject(t)
	all := p.metrics(t)
	told := p.read(t, "docs/operations.md")
	for _, file := range append(p.deployed(t), "docs/operations.md", "docs/scaling.md") {
		for _, m := range series.FindAllStringSubmatch(p.read(t, file), -1) {
			for _, problem := range mistakes(all, m[1], m[2]) {
				t.Errorf("%s: %s: %s", file, m[0], problem)
			}
		}
	}
	for _, name := range sorted(all) {
		if !regexp.MustCompile("`" + name + `\b`).MatchString(told) {
			t.Errorf("docs/operations.md does not tell of `%s`", name)
		}
	}
}

// mistakes returns what is wrong with a series and the labels that it is
// selected by.
func mistakes(all map[string]metric, name, selector string) (problems []string) {
	m, ok := all[name]
	for _, suffix := range []string{"_bucket", "_sum", "_count"} {
		if base, cut := strings.CutSuffix(name, suffix); cut && !ok && all[base].histogram {
			m, ok = all[base], true
		}
	}
	if !ok {
		return []string{"there is no such metric"}
	}
	// Those that Prometheus adds.
	labels := append([]string{"job", "instance", "le"}, m.labels...)
	for _, match := range matcher.FindAllStringSubmatch(selector, -1) {
		if !slices.Contains(labels, match[1]) {
			problems = append(problems, "it has no label "+match[1])
			continue
		}
		values := labelValues()[match[1]]
		for value := range strings.SplitSeq(match[2], "|") {
			if value != "" && values != nil && !slices.Contains(values, value) {
				problems = append(problems, match[1]+" is never "+value)
			}
		}
	}
	return problems
}

// TestMistakes shows that the search is not blind.
func TestMistakes(t *testing.T) {
	all := map[string]metric{
		"petcat_x_total":   {labels: []string{"reason"}},
		"petcat_y_seconds": {histogram: true},
	}
	for _, c := range []struct {
		name, selector string
		want           []string
	}{
		{"petcat_x_total", `job="petcat",reason=~"key_banned|invalid_api_key"`, nil},
		{"petcat_x_total", `reason=\"key_banned\",job=\"petcat\"`, nil},
		{"petcat_x_total", `reason`, nil},
		{"petcat_y_seconds_bucket", `le="1"`, nil},
		{"petcat_x_total_bucket", ``, []string{"there is no such metric"}},
		{"petcat_z", ``, []string{"there is no such metric"}},
		{"petcat_x_total", `account="1"`, []string{"it has no label account"}},
		{"petcat_x_total", `reason="key_baned"`, []string{"reason is never key_baned"}},
	} {
		if diff := cmp.Diff(c.want, mistakes(all, c.name, c.selector)); diff != "" {
			t.Errorf("%s{%s} (-want +got):\n%s", c.name, c.selector, diff)
		}
	}
}

var alertRow = regexp.MustCompile("(?m)^\\| `(Petcat[A-Za-z]+)` \\| \\S")

// TestAlertsTellWhatToDo: whoever is woken finds a line to begin with.
func TestAlertsTellWhatToDo(t *testing.T) {
	p := loadProject(t)
	rules := p.findAll(t, "deploy/prometheus/alerts.yaml", "alert")
	var told []string
	for _, m := range alertRow.FindAllStringSubmatch(p.read(t, "docs/operations.md"), -1) {
		told = append(told, m[1])
	}
	if diff := cmp.Diff(rules, told); diff != "" {
		t.Errorf("the alerts, and what docs/operations.md says to do about them (-rules +told):\n%s", diff)
	}
	if path.Base(p.findAll(t, "deploy/prometheus/prometheus.yaml", "rule_files")[0]) != "[alerts.yaml]" {
		t.Error("deploy/prometheus/prometheus.yaml does not load alerts.yaml")
	}
}
