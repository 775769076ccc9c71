package e2e

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// soakSeries is one thing that must not grow.
type soakSeries struct {
	name    string
	read    func() float64
	least   float64 // what it is counted in: a growth by this is none
	samples []float64
}

// growth returns by how much a series grew from its first quarter to its last one: three
// times the middle one of the three steps between the quarters' medians. What grows does so
// in each quarter; what rises once and stays there does not. Noise is how far half of the
// samples are at most from the median of their quarter.
func (s *soakSeries) growth() (growth, noise float64) {
	const quarters = 4
	n := len(s.samples)
	if n < quarters {
		return math.NaN(), math.NaN()
	}
	var middles, steps, off []float64
	for q := range quarters {
		quarter := slices.Clone(s.samples[q*n/quarters : (q+1)*n/quarters])
		middle := median(quarter)
		for _, v := range quarter {
			off = append(off, math.Abs(v-middle))
		}
		middles = append(middles, middle)
	}
	for q := range quarters - 1 {
		steps = append(steps, middles[q+1]-middles[q])
	}
	return median(steps) * float64(len(steps)), median(off)
}

// grew reports whether a series grew by more than its noise explains, or is too short to
// tell.
func (s *soakSeries) grew() bool {
	growth, noise := s.growth()
	return math.IsNaN(growth) || growth > max(3*noise, s.least)
}

func median(values []float64) float64 {
	slices.Sort(values)
	return values[len(values)/2]
}

// plot draws the samples in a line of letters, from the lowest to the highest.
func (s *soakSeries) plot() string {
	const width, levels = 72, "▁▂▃▄▅▆▇█"
	steps := []rune(levels)
	if len(s.samples) == 0 {
		return ""
	}
	low, high := slices.Min(s.samples), slices.Max(s.samples)
	var line strings.Builder
	for i := range min(width, len(s.samples)) {
		v := s.samples[i*len(s.samples)/min(width, len(s.samples))]
		line.WriteRune(steps[int((v-low)/max(high-low, 1e-9)*float64(len(steps)-1))])
	}
	return fmt.Sprintf("%s %.4g to %.4g", line.String(), low, high)
}

// TestSoakSeesGrowth: what the soak calls growth, of a hundred megabytes of memory in which
// a garbage collector comes and goes.
func TestSoakSeesGrowth(t *testing.T) {
	const mib = 1 << 20
	for _, c := range []struct {
		name  string
		value func(share float64) float64 // of the time that has passed
		grew  bool
	}{
		{"nothing", func(float64) float64 { return 0 }, false},
		{"a leak of 8 MiB", func(share float64) float64 { return 8 * mib * share }, true},
		{"a step at a third", func(share float64) float64 { return map[bool]float64{true: 8 * mib}[share > 0.3] }, false},
		{"a step near the end", func(share float64) float64 { return map[bool]float64{true: 8 * mib}[share > 0.8] }, false},
		{"a step in the middle", func(share float64) float64 { return map[bool]float64{true: 8 * mib}[share > 0.5] }, false},
		{"a step in every quarter", func(share float64) float64 { return 3 * mib * math.Floor(4*share) }, true},
		{"a leak of 6 MiB", func(share float64) float64 { return 6 * mib * share }, true},
		{"less than the heap grows by", func(share float64) float64 { return 3 * mib * share }, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			random := rand.New(rand.NewPCG(1, 2))
			s := soakSeries{least: heapStep}
			const samples = 1000
			for i := range samples {
				collected := float64(i%20) / 20 * 2 * mib
				s.samples = append(s.samples, 100*mib+collected+random.Float64()*mib+c.value(float64(i)/samples))
			}
			growth, noise := s.growth()
			if s.grew() != c.grew {
				t.Errorf("growth %.4g, noise %.4g: it grew: %v, want %v", growth, noise, s.grew(), c.grew)
			}
		})
	}
}
