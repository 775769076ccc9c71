package main

import (
	"bytes"
	"strings"
	"testing"

	"petcat"
)

// TestPastedKeyIsFoundBehindOtherText shows that a line that is pasted on a terminal is read
// to its end: a leaked key may stand far behind other text.
func TestPastedKeyIsFoundBehindOtherText(t *testing.T) {
	generated, err := petcat.GenerateKey(petcat.Production, strings.NewReader(strings.Repeat("random", 100)))
	if err != nil {
		t.Fatal(err)
	}
	key := generated.Secret.Reveal()
	line := "curl -i -H 'Content-Type: application/json' -d '{\"name\":\"dog\",\"description\":\"Loyal, and always hungry\"}' -H 'Authorization: Bearer " + key + "'\n"
	p := &program{stdin: strings.NewReader(line), stderr: new(bytes.Buffer), isTerminal: func(any) bool { return true }}
	found, err := p.readLeaked()
	if err != nil {
		t.Fatal(err)
	}
	if len(found) != 1 || found[0].Reveal() != key {
		t.Errorf("%d keys were found, want the one in the line", len(found))
	}
}
