package main

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// runs is the number of random runs that compare a template before and after formatting.
const runs = 64

// compare returns an error if two templates may show different pages. It runs both: each control of both
// chooses the same random branches, and each action writes its own text. White space that browsers ignore
// is then removed from the results.
func compare(before, after *list) error {
	for seed := range uint64(runs) {
		a, b := render(before, seed), render(after, seed)
		if a != b {
			return fmt.Errorf("a bug: formatting would change the page from\n%s\nto\n%s", a, b)
		}
	}
	return nil
}

// page is the result of a run.
type page struct {
	random *rand.Rand
	text   strings.Builder
	// space is true if white space was written, and is not yet known to be significant.
	space bool
	// edge is true if white space here is at the edge of a box.
	edge bool
}

func render(l *list, seed uint64) string {
	p := &page{random: rand.New(rand.NewPCG(seed, 0)), edge: true}
	p.list(l, nil)
	return p.text.String()
}

// write writes text. before and after report whether white space before and after it is insignificant.
func (p *page) write(text string, before, after bool) {
	if p.space && !p.edge && !before {
		p.text.WriteString(" ")
	}
	p.text.WriteString(text)
	p.space = false
	p.edge = after
}

func (p *page) list(l *list, parent *element) {
	for i, g := range l.gaps {
		p.space = p.space || g.space
		if i < len(l.nodes) {
			p.node(l.nodes[i], parent)
		}
	}
}

func (p *page) node(n node, parent *element) {
	switch n := n.(type) {
	case word:
		p.write(string(n), false, false)
	case action:
		if n.isSilent() {
			p.text.WriteString(string(n))
		} else {
			p.write(string(n), false, false)
		}
	case *control:
		p.control(n, parent)
	case *element:
		p.element(n, parent)
	}
}

func (p *page) control(c *control, parent *element) {
	if c.isDefine() {
		p.write("\n"+c.branches[0].head, true, false)
		p.list(c.branches[0].body, parent)
		p.write("{{end}}", false, true)
		return
	}
	choices := len(c.branches)
	if c.maySkip() {
		choices++
	}
	times := 1
	if c.isRange() {
		times += p.random.IntN(2)
	}
	for range times {
		choice := p.random.IntN(choices)
		if choice == len(c.branches) {
			p.text.WriteString("{{not taken}}")
			continue
		}
		p.text.WriteString(c.branches[choice].head)
		p.list(c.branches[choice].body, parent)
	}
}

func (p *page) element(e, parent *element) {
	isBox := e.isBlock() || parent != nil && parent.boxes
	switch {
	case e.isHidden():
		p.text.WriteString(e.flatTag())
	case e.void:
		p.write("\n"+e.flatTag(), isBox, isBox)
	case e.verbatim:
		p.write("\n"+e.flatTag()+e.raw+e.endTag(), isBox, isBox)
	default:
		p.write("\n"+e.flatTag(), isBox, e.isContainer())
		p.list(e.body, e)
		p.write(e.endTag(), e.isContainer(), isBox)
	}
}
