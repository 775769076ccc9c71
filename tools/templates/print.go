package main

import (
	"bytes"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	width    = 120 // columns
	tabWidth = 4
)

// printer writes a template.
type printer struct {
	text  []byte
	depth int    // tabs at the start of the next line
	tail  string // follows the list that is being written, in the line of its last node
}

// format returns the formatted text of a template.
func (l *list) format() string {
	p := &printer{}
	p.list(l)
	return string(p.text) + "\n"
}

func (p *printer) put(text string) { p.text = append(p.text, text...) }

func (p *printer) newLine() { p.put("\n" + strings.Repeat("\t", p.depth)) }

// fits reports whether text fits into the current line.
func (p *printer) fits(text string) bool {
	line := string(p.text[bytes.LastIndexByte(p.text, '\n')+1:]) + text
	return utf8.RuneCountInString(line)+strings.Count(line, "\t")*(tabWidth-1) <= width
}

// fitsLine reports whether text fits into its own line.
func (p *printer) fitsLine(text string) bool {
	return p.depth*tabWidth+utf8.RuneCountInString(text) <= width
}

// list writes a list in several lines. The first node is in the current line.
func (p *printer) list(l *list) {
	for i, n := range l.nodes {
		mustTrim := i > 0 && p.separate(l, i)
		begin := len(p.text)
		p.node(n)
		if mustTrim {
			p.trimLeft(begin)
		}
	}
}

// separate writes the white space before a node, which is not the first. It returns true if the node, an
// action, must remove the white space again.
func (p *printer) separate(l *list, i int) (mustTrim bool) {
	g := l.gaps[i]
	previous, next := l.nodes[i-1], l.nodes[i]
	ownLine := hasOwnLine(previous) || hasOwnLine(next) || l.isStructural() && g.mayBreak()
	if !ownLine && p.fits(g.flat()+p.chunk(l, i)) {
		p.put(g.flat())
		return false
	}
	switch {
	case g.mayBreak():
		if g.blank || isDefinition(previous) || isDefinition(next) {
			p.put("\n")
		}
	case isAction(next) && !isSilent(previous):
		mustTrim = true
	case isAction(previous):
		p.trimRight()
	default:
		return false // the line must not end here
	}
	p.newLine()
	return mustTrim
}

// trimLeft makes the action at an index remove the white space before it.
func (p *printer) trimLeft(at int) {
	p.text = slices.Insert(p.text, at+len("{{"), '-', ' ')
}

// trimRight makes the action that was written last remove the white space after it.
func (p *printer) trimRight() {
	p.text = slices.Insert(p.text, len(p.text)-len("}}"), ' ', '-')
}

// chunk returns the text from a node to the next gap where a line may end, if it is in one line.
func (p *printer) chunk(l *list, i int) string {
	text := flat(l.nodes[i])
	for i++; i < len(l.nodes); i++ {
		if l.gaps[i].mayBreak() {
			return text
		}
		text += flat(l.nodes[i])
	}
	if l.gaps[i].mayBreak() {
		return text
	}
	return text + p.tail
}

// node writes a node: in the current line if it fits and no part has its own line, else in several.
func (p *printer) node(n node) {
	text := flat(n)
	if !containsBlock(n) && !strings.Contains(text, "\n") && p.fits(text) {
		p.put(text)
		return
	}
	switch n := n.(type) {
	case *control:
		p.control(n)
	case *element:
		p.element(n)
	default:
		p.action(text)
	}
}

// action writes an action, or the head of a control, in several lines if it is too long.
func (p *printer) action(text string) {
	if p.fits(text) {
		p.put(text)
		return
	}
	p.depth++
	for i, field := range fields(text) {
		switch {
		case i == 0:
		case p.fits(" " + field):
			p.put(" ")
		default:
			p.newLine()
		}
		p.put(field)
	}
	p.depth--
}

// control writes a control in several lines.
func (p *printer) control(c *control) {
	mark := "{{"
	for _, b := range c.branches {
		p.action(mark + strings.TrimPrefix(b.head, "{{"))
		mark = p.branch(b.body, c.isDefine())
	}
	p.put(mark + "end}}")
}

// branch writes the body of a control, and begins the line of the control's next part. It returns the
// start of that part: {{, or {{- if it removes the white space before it. The body of a definition is not
// indented.
func (p *printer) branch(l *list, isDefinition bool) (mark string) {
	if len(l.nodes) == 0 {
		p.put(l.gaps[0].flat())
		return "{{"
	}
	if !l.gaps[0].mayBreak() {
		p.trimRight()
	}
	if !isDefinition {
		p.depth++
	}
	tail := p.tail
	p.tail = ""
	p.newLine()
	p.list(l)
	p.tail = tail
	if !isDefinition {
		p.depth--
	}
	p.newLine()
	if !l.gaps[len(l.nodes)].mayBreak() {
		return "{{- "
	}
	return "{{"
}

// element writes an element in several lines.
func (p *printer) element(e *element) {
	start := e.flatTag()
	body := e.flatBody() + e.endTag()
	bodyMovesIntoLine := e.isGlued() && !p.fits(start+body) && p.fitsLine(e.tagEnd()+body)
	if strings.Contains(start, "\n") || !p.fits(start) || bodyMovesIntoLine {
		p.startTag(e)
	} else {
		p.put(start)
	}
	if e.void || e.verbatim || len(e.body.nodes) == 0 || !containsBlock(e.body) && p.fits(body) {
		p.put(body)
	} else {
		p.elementBody(e.body, e.endTag())
	}
}

// isGlued reports whether the body of an element must begin right after the start tag.
func (e *element) isGlued() bool {
	if e.void || e.verbatim || len(e.body.nodes) == 0 {
		return true
	}
	return !e.body.gaps[0].mayBreak() && !containsBlock(e.body)
}

// elementBody writes the body and the end tag of an element, with line breaks around the body if they are
// insignificant, or if an action removes them.
func (p *printer) elementBody(l *list, endTag string) {
	tail := p.tail
	p.tail = endTag + tail
	p.depth++
	first, last := l.gaps[0], l.gaps[len(l.nodes)]
	begin := len(p.text)
	if first.mayBreak() || isAction(l.nodes[0]) {
		p.newLine()
		begin = len(p.text)
	}
	p.list(l)
	if !first.mayBreak() && isAction(l.nodes[0]) {
		p.trimLeft(begin)
	}
	p.depth--
	switch {
	case last.mayBreak():
		p.newLine()
	case isAction(l.nodes[len(l.nodes)-1]):
		p.trimRight()
		p.newLine()
	}
	p.put(endTag)
	p.tail = tail
}

// startTag writes a start tag with one attribute a line.
func (p *printer) startTag(e *element) {
	p.put("<" + e.name)
	if len(e.attrs) == 0 {
		p.put(e.tagEnd())
		return
	}
	p.depth++
	for _, a := range e.attrs {
		p.newLine()
		p.put(strings.TrimPrefix(a.flat(""), " "))
	}
	p.depth--
	p.newLine()
	p.put(e.tagEnd())
}

// mayBreak reports whether white space may be added.
func (g gap) mayBreak() bool { return g.space || g.free }

func (g gap) flat() string {
	if g.space {
		return " "
	}
	return ""
}

// flat returns a node in one line, unless it contains line breaks that are significant.
func flat(n node) string {
	switch n := n.(type) {
	case word:
		return string(n)
	case action:
		return string(n)
	case *control:
		text := ""
		for _, b := range n.branches {
			text += b.head + b.body.flat()
		}
		return text + "{{end}}"
	case *element:
		return n.flatTag() + n.flatBody() + n.endTag()
	}
	panic("unknown node")
}

func (l *list) flat() string {
	text := ""
	for i, n := range l.nodes {
		text += l.gaps[i].flat() + flat(n)
	}
	return text + l.gaps[len(l.nodes)].flat()
}

// flatBody returns the body of an element, without white space that browsers ignore.
func (e *element) flatBody() string {
	switch {
	case e.void:
		return ""
	case e.verbatim:
		return e.raw
	case e.isContainer():
		return strings.TrimSpace(e.body.flat())
	default:
		return e.body.flat()
	}
}

func (e *element) flatTag() string {
	text := "<" + e.name
	for _, a := range e.attrs {
		text += a.flat(" ")
	}
	return text + e.tagEnd()
}

func (e *element) tagEnd() string {
	if e.slash {
		return "/>"
	}
	return ">"
}

func (e *element) endTag() string {
	if e.void {
		return ""
	}
	return "</" + e.name + ">"
}

// flat returns an attribute with a separator before it. A control has it within its branches.
func (a attr) flat(separator string) string {
	if len(a.branches) == 0 {
		return separator + a.text
	}
	text := ""
	for i, part := range a.branches {
		if i%2 == 1 && part != "" {
			part = separator + part
		}
		text += part
	}
	return text + "{{end}}"
}

// containsBlock reports whether a part of a node, but not an element itself, has its own line.
func containsBlock(n node) bool {
	switch n := n.(type) {
	case *list:
		return n != nil && slices.ContainsFunc(n.nodes, isBlockNode)
	case *element:
		return containsBlock(n.body)
	case *control:
		if n.isDefine() && len(n.branches[0].body.nodes) > 1 {
			return true
		}
		return slices.ContainsFunc(n.branches, func(b branch) bool { return containsBlock(b.body) })
	default:
		return false
	}
}

// isBlockNode reports whether a node has its own line, and no node with such a part is in one line.
func isBlockNode(n node) bool {
	if e, ok := n.(*element); ok && e.isBlock() && e.name != "input" {
		return true
	}
	return containsBlock(n)
}

// hasOwnLine reports whether a node has its own line if its list has several.
func hasOwnLine(n node) bool { return isBlockNode(n) || isSilent(n) || isDefinition(n) }

func isSilent(n node) bool {
	a, ok := n.(action)
	return ok && a.isSilent()
}

func isDefinition(n node) bool {
	c, ok := n.(*control)
	return ok && c.isDefine()
}

func isAction(n node) bool {
	switch n.(type) {
	case action, *control:
		return true
	default:
		return false
	}
}

// isStructural reports whether a list contains no text, so that each node has its own line.
func (l *list) isStructural() bool {
	return !slices.ContainsFunc(l.nodes, func(n node) bool {
		a, isAction := n.(action)
		_, isWord := n.(word)
		return isWord || isAction && !a.isSilent() && !strings.HasPrefix(string(a), "{{template ")
	})
}
