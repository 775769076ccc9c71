package plot

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"petcat/bench/report"
)

func example() report.Result {
	r := report.Result{Date: "2026-01-31", Machine: report.Machine{CPU: `<"Fast" & hot>`}}
	add := func(group, subject string, categories, connections int, rate float64) {
		r.Samples = append(r.Samples, report.Sample{
			Group: group, Subject: subject, Categories: categories, Connections: connections,
			Round: 1, Rate: rate, CPU: 1e6 / rate, P50: 1e7 / rate, P99: 5e7 / rate,
		})
	}
	add("list", "petcat list", 10, 64, 90_000)
	add("list", "bare list", 10, 64, 100_000)
	add("list", "nginx list, file kept open", 10, 64, 110_000)
	for _, n := range []int{100, 10_000, 1_000_000} {
		add("sizes", "petcat list", n, 64, 5e6/float64(n))
		add("sizes", "bare list", n, 64, 6e6/float64(n))
		add("sizes", "petcat 304 of "+strconv.Itoa(n), n, 64, 90_000)
	}
	for _, c := range []int{1, 64, 256} {
		add("create", "petcat create", 0, c, 1000*float64(c))
		add("create", "bare create", 0, c, 2000*float64(c))
	}
	for _, offered := range []float64{500, 2000, 8000} {
		r.Samples = append(r.Samples, report.Sample{
			Group: "overload", Subject: "petcat create, slow PostgreSQL", Round: 1, Offered: offered, Rate: min(offered, 2000), Refused: max(0, offered-2000),
		})
	}
	return r
}

// texts returns what a picture says, a line each. It fails when that is not
// well-formed.
func texts(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(text), "NaN") || strings.Contains(string(text), "Inf") {
		t.Errorf("%s has places that are no numbers", file)
	}
	said := "\n"
	for d := xml.NewDecoder(bytes.NewReader(text)); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return said
		}
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if data, is := token.(xml.CharData); is {
			said += strings.TrimSpace(string(data)) + "\n"
		}
	}
}

func TestDraw(t *testing.T) {
	dir := t.TempDir()
	if err := Draw(example(), dir); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string][]string{
		"throughput.svg": {"petcat", "bare net/http", "nginx, file kept open", "bare, stores nothing", "90,000", "110,000"},
		"cost.svg":       {"petcat", "bare, same bytes", "petcat, 304", "1,000,000"},
		"create.svg":     {"petcat p50", "petcat p99", "bare p50, stores nothing", "1", "100"},
		"overload.svg":   {"created", "refused with 503", "0", "8,000"},
	} {
		said := texts(t, filepath.Join(dir, file))
		for _, text := range append(want, `2026-01-31, <"Fast" & hot>`) {
			if !strings.Contains(said, "\n"+text+"\n") {
				t.Errorf("%s does not say %q:\n%s", file, text, said)
			}
		}
	}
}

func TestDrawNothing(t *testing.T) {
	dir := t.TempDir()
	if err := Draw(report.Result{}, dir); err != nil {
		t.Fatal(err)
	}
	if files, _ := os.ReadDir(dir); len(files) > 0 {
		t.Errorf("%s was drawn of nothing", files[0].Name())
	}
}
