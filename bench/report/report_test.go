package report

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/procfs"
)

func TestMedian(t *testing.T) {
	cases := map[string]struct {
		values []float64
		want   float64
	}{
		"none":  {nil, 0},
		"one":   {[]float64{3}, 3},
		"odd":   {[]float64{9, 1, 4}, 4},
		"even":  {[]float64{9, 1, 4, 6}, 5},
		"equal": {[]float64{2, 2}, 2},
	}
	for name, c := range cases {
		before := append([]float64(nil), c.values...)
		if got := Median(c.values); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
		if diff := cmp.Diff(before, c.values); diff != "" {
			t.Errorf("%s: the values were changed:\n%s", name, diff)
		}
	}
}

// The machine halves its speed from round to round: the ratios do not notice,
// which those of the medians would.
func TestRatiosAreTakenRoundByRound(t *testing.T) {
	row := Compare("g", "what", "/s", []float64{100, 40, 30}, Column{"bare", []float64{200, 80, 20}}, AtLeast(0.5))
	if row.Ratio != 0.5 || row.Met != Yes || row.Value != 40 || row.YardstickValue != 80 {
		t.Errorf("%+v", row)
	}
	if diff := cmp.Diff([]float64{0.5, 0.5, 1.5}, row.Rounds); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestFigures(t *testing.T) {
	cases := map[string]struct {
		figure Figure
		value  float64
		want   Met
	}{
		"none":            {Figure{}, 1, None},
		"reached":         {AtLeast(0.95), 0.95, Yes},
		"missed":          {AtLeast(0.95), 0.949, No},
		"below":           {AtMost(5), 5, Yes},
		"above":           {AtMost(5), 5.01, No},
		"none at all":     {AtMost(0), 0, Yes},
		"more than none":  {AtMost(0), 1, No},
		"is not a number": {AtMost(5), math.NaN(), No},
	}
	for name, c := range cases {
		if got := c.figure.met(c.value); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	if got := Measure("g", "w", "ms", nil, AtMost(5)).Met; got != Absent {
		t.Errorf("nothing measured: %q, want %q", got, Absent)
	}
}

func TestFormat(t *testing.T) {
	cases := map[string]string{
		Format(76515.4, "/s"):   "76,515/s",
		Format(1234567, ""):     "1,234,567",
		Format(0, ""):           "0",
		Format(250, "MiB"):      "250 MiB",
		Format(14.84, "µs"):     "14.8 µs",
		Format(0.0112, "s"):     "0.0112 s",
		Format(3.14159, "ms"):   "3.14 ms",
		Format(-12345.6, "B"):   "-12,346 B",
		AtLeast(0.95).text(""):  "at least 0.95",
		AtMost(0.5).text("µs"):  "at most 0.5 µs",
		ratio(0.9961):           "0.996",
		ratio(15.32):            "15.3",
		(Figure{}).text("ms"):   "",
		duration(999):           "999 µs",
		duration(1234.5):        "1.23 ms",
		AtMost(250).text("MiB"): "at most 250 MiB",
	}
	for got, want := range cases {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func example() Result {
	return Result{
		Date: "2026-01-31", Revision: "abc", Settings: Settings{Rounds: 2, Seconds: 1},
		Machine:  Machine{CPU: "a processor", Cores: 2, MemoryGiB: 8, System: "Debian", Kernel: "6", FileSystem: "ext4", Go: "go1"},
		Programs: []Peer{{Name: "nginx", Version: "nginx/1"}, {Name: "wrk", Absent: "not installed"}},
		Rows: []Row{
			Compare("list", "list", "/s", []float64{90, 100}, Column{"bare", []float64{100, 100}}, AtLeast(0.95)),
			Missing("list", "list", "nginx", "at least 1", "not installed | yet"),
			Measure("create", "p99", "ms", []float64{4}, AtMost(5)),
		},
		Samples: []Sample{
			{Group: "list", Subject: "petcat", Categories: 10, Connections: 64, Round: 1, Rate: 100, CPU: 10, P50: 500, P99: 2000, PeakMemory: 20},
			{Group: "list", Subject: "bare", Categories: 10, Connections: 64, Round: 1, Rate: 300, CPU: 9, P50: 400, P99: 1000, PeakMemory: 10},
			{Group: "list", Subject: "petcat", Categories: 10, Connections: 64, Round: 2, Rate: 200, CPU: 12, P50: 700, P99: 4000, PeakMemory: 30},
		},
	}
}

func TestTable(t *testing.T) {
	const want = `what  value  yardstick   ratio  figure         met
list  95/s   bare 100/s  0.950  at least 0.95  yes
list         nginx              at least 1     absent: not installed | yet
p99   4 ms                      at most 5 ms   yes

server and request  categories  connections  answers/s  p50     p99      CPU per answer  peak memory
petcat              10          64           150        600 µs  3 ms     11 µs           30 MiB
bare                10          64           300        400 µs  1 ms     9 µs            10 MiB
`
	// The widths of the columns are not what matters here.
	squeeze := func(text string) string {
		lines := strings.Split(text, "\n")
		for i, line := range lines {
			lines[i] = strings.Join(strings.Fields(line), " ")
		}
		return strings.Join(lines, "\n")
	}
	if diff := cmp.Diff(squeeze(want), squeeze(example().Table())); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestMarkdown(t *testing.T) {
	text, err := example().Markdown()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"absent: not installed\n", "| at least 0.95 | yes |", `not installed \| yet`, "Disk: ext4"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in it:\n%s", want, text)
		}
	}
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "|") {
			cells := strings.Count(strings.ReplaceAll(line, `\|`, ""), "|") - 1
			if cells != len(example().Verdicts()[0]) && cells != len(example().Details()[0]) {
				t.Errorf("a row of %d cells: %s", cells, line)
			}
		}
	}
}

func TestWriteAndRead(t *testing.T) {
	dir := t.TempDir()
	want := example()
	if err := want.Write(dir, want.Date); err != nil {
		t.Fatal(err)
	}
	got, err := Read(dir + "/" + want.Date + ".json")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A ratio that is not a number would make the whole file unwritable.
func TestRowsCanBeWritten(t *testing.T) {
	row := Compare("g", "what", "/s", []float64{1, 2}, Column{"bare", []float64{0, 0}}, AtLeast(1))
	if row.Met != Absent {
		t.Errorf("compared with nothing: %+v", row)
	}
	if _, err := json.Marshal(row); err != nil {
		t.Error(err)
	}
}

func TestFileSystem(t *testing.T) {
	mounts := []*procfs.MountInfo{{MountPoint: "/", FSType: "ext4"}, {MountPoint: "/tmp", FSType: "tmpfs"}, {MountPoint: "/tmporary", FSType: "xfs"}}
	for dir, want := range map[string]string{"/home/x": "ext4", "/tmp/y": "tmpfs", "/tmporary": "xfs", "/tmporary/z": "xfs"} {
		if got := fileSystem(mounts, dir); got != want {
			t.Errorf("%s is on %s, want %s", dir, got, want)
		}
	}
}
