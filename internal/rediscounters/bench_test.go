package rediscounters_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"petcat"
	"petcat/internal/counters"
	"petcat/internal/redistest"
)

// BenchmarkCharge measures calls with so many charges, one after the other, and the
// server's processor time for each charge.
func BenchmarkCharge(b *testing.B) {
	for _, size := range []int{1, 16, 64} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			server := redistest.Start(b)
			n := join(b, server.URL())
			const accounts = 1_024
			charges := make([]counters.Charge, accounts)
			for i := range charges {
				charges[i] = counters.Charge{
					Account: petcat.AccountID(i + 1), Requests: 1, PerMinute: petcat.MaxQuota, PerDay: petcat.MaxQuota, Series: series,
				}
			}
			facts, err := n.Charge(b.Context(), 0, n.epoch, charges)
			if err != nil {
				b.Fatal(err)
			}
			var grants []counters.Grant
			for _, c := range charges {
				grants = append(grants, counters.Grant{
					Account: c.Account, Day: petcat.Day.Index(facts[0].Now / 1e9), Series: series, Granted: petcat.MaxQuota, Count: petcat.MaxQuota / 2,
				})
			}
			if err := n.Grant(b.Context(), 0, n.epoch, grants); err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			calls, before := 0, processorTime(b, server)
			for b.Loop() {
				at := calls * size % accounts
				if _, err := n.Charge(b.Context(), 0, n.epoch, charges[at:at+size]); err != nil {
					b.Fatal(err)
				}
				calls++
			}
			b.ReportMetric((processorTime(b, server)-before)*1e6/float64(calls*size), "server-µs/charge")
			b.ReportMetric(scriptTime(b, server)/float64(size), "script-µs/charge")
		})
	}
}

// BenchmarkAccounts reports what each of so many accounts takes in the server's memory.
func BenchmarkAccounts(b *testing.B) {
	for _, count := range []int{1_000_000, 10_000_000} {
		b.Run(fmt.Sprint(count), func(b *testing.B) {
			const each = 1_000
			charges := make([]counters.Charge, each)
			for b.Loop() {
				server := redistest.Start(b)
				n := join(b, server.URL())
				before := usedMemory(b, server)
				for first := 1; first <= count; first += each {
					for i := range charges {
						charges[i] = counters.Charge{Account: petcat.AccountID(first + i), Requests: 1, PerMinute: 60, PerDay: 1_000, Series: series}
					}
					if _, err := n.Charge(b.Context(), 0, n.epoch, charges); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric((usedMemory(b, server)-before)/float64(count), "server-B/account")
			}
		})
	}
}

// usedMemory returns how many bytes the server has allocated.
func usedMemory(tb testing.TB, s *redistest.Server) float64 {
	tb.Helper()
	for line := range strings.Lines(s.MustDo("INFO", "memory")) {
		if value, is := strings.CutPrefix(strings.TrimSpace(line), "used_memory:"); is {
			n, err := strconv.ParseFloat(value, 64)
			if err != nil {
				tb.Fatal(err)
			}
			return n
		}
	}
	tb.Fatal("the server does not tell its memory")
	return 0
}

// processorTime returns how many seconds of processor time the server has taken.
func processorTime(tb testing.TB, s *redistest.Server) (seconds float64) {
	tb.Helper()
	for line := range strings.Lines(s.MustDo("INFO", "cpu")) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		if name == "used_cpu_user" || name == "used_cpu_sys" {
			n, err := strconv.ParseFloat(value, 64)
			if err != nil {
				tb.Fatal(err)
			}
			seconds += n
		}
	}
	return seconds
}

// scriptTime returns how many microseconds a run of a script took by the clock.
func scriptTime(tb testing.TB, s *redistest.Server) float64 {
	tb.Helper()
	_, rest, _ := strings.Cut(s.MustDo("INFO", "commandstats"), "cmdstat_evalsha:")
	_, rest, _ = strings.Cut(rest, "usec_per_call=")
	text, _, _ := strings.Cut(rest, ",")
	n, err := strconv.ParseFloat(text, 64)
	if err != nil {
		tb.Fatal(err)
	}
	return n
}
