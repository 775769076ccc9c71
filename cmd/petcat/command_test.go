package main

import (
	"errors"
	"strings"
	"testing"
)

func TestConfirm(t *testing.T) {
	for _, c := range []struct {
		name     string
		yes      bool
		terminal bool
		answer   string
		want     error
		asked    bool
	}{
		{name: "y", terminal: true, answer: "y\n", asked: true},
		{name: "just enter", terminal: true, answer: "\n", want: errNotConfirmed, asked: true},
		{name: "end of input", terminal: true, want: errNotConfirmed, asked: true},
		{name: "--yes", yes: true, terminal: true},
		{name: "off a terminal", answer: "y\n", want: errNobodyToAsk},
		{name: "--yes off a terminal", yes: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			var prompt strings.Builder
			p := &program{stdin: strings.NewReader(c.answer), stderr: &prompt, isTerminal: func(any) bool { return c.terminal }}
			if err := p.confirm(c.yes, "Close?"); !errors.Is(err, c.want) {
				t.Errorf("confirm = %v; want %v", err, c.want)
			}
			if asked := prompt.Len() > 0; asked != c.asked {
				t.Errorf("asked: %v (%q); want %v", asked, prompt.String(), c.asked)
			}
		})
	}
}
