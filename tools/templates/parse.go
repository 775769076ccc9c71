package main

import (
	"fmt"
	"regexp"
	"strings"
)

// A template is a tree. Its nodes are words, actions, controls and elements.
type (
	// list is a sequence of nodes. gaps[i] is before nodes[i], and the last gap is after the last node.
	list struct {
		nodes []node
		gaps  []gap
	}

	node any

	// word is text without white space.
	word string

	// action is an action other than a control, such as {{.Name}} or {{$now := .Now}}.
	action string

	// control is an action with a body, from {{if}}, {{range}}, {{with}}, {{block}} or {{define}} to its
	// {{end}}.
	control struct {
		branches []branch
	}

	// branch is {{if}} or {{else}} and what follows it.
	branch struct {
		head string
		body *list
	}

	// element is an element, a comment or a document type.
	element struct {
		name     string
		attrs    []attr
		slash    bool   // the tag ends with />
		void     bool   // it has no body and no end tag
		verbatim bool   // white space in the body is significant
		raw      string // the body, if it is verbatim
		body     *list  // the body, if it is not
		boxes    bool   // browsers ignore white space around its children; see setFree
	}

	// attr is an attribute, or a control around attributes.
	attr struct {
		text     string   // name="value"; empty for a control
		branches []string // {{if}}, attributes, {{else}}, attributes and so on, without {{end}}
	}
)

// gap is the place between two nodes.
type gap struct {
	space bool // there is white space
	blank bool // there is an empty line
	free  bool // browsers ignore white space here, so it may be added or removed; see setFree
}

// parser reads a template.
type parser struct {
	text string
	at   int
}

// parse parses a template.
func parse(text string) (*list, error) {
	p := &parser{text: text}
	l, err := p.list()
	if err == nil && p.at < len(text) {
		err = p.errorf("%.20q ends nothing", p.rest())
	}
	if err != nil {
		return nil, err
	}
	setFree(l)
	return l, nil
}

func (p *parser) rest() string { return p.text[p.at:] }

func (p *parser) errorf(format string, args ...any) error {
	line := 1 + strings.Count(p.text[:p.at], "\n")
	return fmt.Errorf("line %d: %s", line, fmt.Sprintf(format, args...))
}

// list reads nodes up to the end of the text, an end tag, {{else}} or {{end}}.
func (p *parser) list() (*list, error) {
	l := &list{}
	trimmed := false // the last action removes the white space that follows it
	for {
		space := p.space()
		if trimmed || trimsLeft.MatchString(p.rest()) {
			space = ""
		}
		l.gaps = append(l.gaps, gap{
			space: space != "",
			blank: strings.Count(space, "\n") > 1,
		})
		n, err := p.node()
		if err != nil {
			return nil, err
		}
		if n == nil {
			return l, nil
		}
		l.nodes = append(l.nodes, n)
		trimmed = trimsRight.MatchString(p.text[:p.at])
	}
}

// node reads a node. It returns nil at the end of the list.
func (p *parser) node() (node, error) {
	rest := p.rest()
	if rest == "" || strings.HasPrefix(rest, "</") {
		return nil, nil
	}
	if startsTag.MatchString(rest) {
		return p.element()
	}
	if !strings.HasPrefix(rest, "{{") {
		return p.word(), nil
	}
	text, end, err := p.peekAction()
	if err != nil {
		return nil, err
	}
	switch keywordOf(text) {
	case "":
		p.at = end
		return action(text), nil
	case "else", "end":
		return nil, nil
	default:
		return p.control()
	}
}

var (
	startsTag  = regexp.MustCompile(`^<[A-Za-z!]`)
	endsWord   = regexp.MustCompile(`^(\{\{|</|<[A-Za-z!])`)
	trimsLeft  = regexp.MustCompile(`^\{\{-\s`)
	trimsRight = regexp.MustCompile(`\s-\}\}$`)
)

// space reads white space.
func (p *parser) space() string {
	begin := p.at
	for p.at < len(p.text) && isSpace(p.text[p.at]) {
		p.at++
	}
	return p.text[begin:p.at]
}

func isSpace(c byte) bool { return strings.IndexByte(" \t\r\n\f", c) >= 0 }

// word reads text up to white space, a tag or an action.
func (p *parser) word() word {
	begin := p.at
	for p.at++; p.at < len(p.text); p.at++ {
		rest := p.rest()
		if isSpace(rest[0]) || endsWord.MatchString(rest) {
			break
		}
	}
	return word(p.text[begin:p.at])
}

// peekAction returns the action at the current place, in one line and without trim markers, and the index
// of its end.
func (p *parser) peekAction() (text string, end int, err error) {
	i := p.at + len("{{")
	for i < len(p.text) && !strings.HasPrefix(p.text[i:], "}}") {
		switch c := p.text[i]; {
		case c == '"', c == '`', c == '\'':
			i = endOfQuoted(p.text, i)
		case strings.HasPrefix(p.text[i:], "/*"):
			i += len("/*") + max(0, strings.Index(p.text[i+len("/*"):], "*/")) + len("*/")
		default:
			i++
		}
	}
	if i >= len(p.text) {
		return "", 0, p.errorf("the action has no }}")
	}
	end = i + len("}}")
	text = p.text[p.at:end]
	text = trimsLeft.ReplaceAllString(text, "{{")
	text = trimsRight.ReplaceAllString(text, "}}")
	inner := text[len("{{") : len(text)-len("}}")]
	if strings.HasPrefix(inner, "/*") {
		return text, end, nil
	}
	return "{{" + strings.Join(fields(inner), " ") + "}}", end, nil
}

// fields splits an action at white space outside of its strings.
func fields(text string) (all []string) {
	begin := 0
	for i := 0; i <= len(text); {
		switch {
		case i == len(text), isSpace(text[i]):
			if i > begin {
				all = append(all, text[begin:i])
			}
			i++
			begin = i
		case strings.IndexByte("\"`'", text[i]) >= 0:
			i = endOfQuoted(text, i)
		default:
			i++
		}
	}
	return all
}

// endOfQuoted returns the index after the quoted string that begins at an index.
func endOfQuoted(text string, begin int) int {
	quote := text[begin]
	i := begin + 1
	for i < len(text) && text[i] != quote {
		if text[i] == '\\' && quote != '`' {
			i++
		}
		i++
	}
	return i + 1
}

var keywordForm = regexp.MustCompile(`^\{\{(if|with|range|block|define|else|end)\b`)

// keywordOf returns the keyword of a control's part; "" for another action.
func keywordOf(text string) string {
	found := keywordForm.FindStringSubmatch(text)
	if found == nil {
		return ""
	}
	return found[1]
}

// control reads from {{if}} to {{end}}.
func (p *parser) control() (*control, error) {
	c := &control{}
	begin := *p
	for {
		text, end, err := p.peekAction()
		if err != nil {
			return nil, err
		}
		if keywordOf(text) == "end" {
			p.at = end
			return c, nil
		}
		p.at = end
		trimmed := trimsRight.MatchString(p.text[:end])
		body, err := p.list()
		if err != nil {
			return nil, err
		}
		if trimmed {
			body.gaps[0] = gap{}
		}
		if !strings.HasPrefix(p.rest(), "{{") {
			return nil, begin.errorf("%s has no {{end}} before %.20q", text, p.rest())
		}
		c.branches = append(c.branches, branch{head: text, body: body})
	}
}

// element reads an element.
func (p *parser) element() (*element, error) {
	begin := *p
	if strings.HasPrefix(p.rest(), "<!") {
		end := strings.Index(p.rest(), ">")
		if strings.HasPrefix(p.rest(), "<!--") {
			end = strings.Index(p.rest(), "-->") + len("--")
		}
		if end < len("--") {
			return nil, p.errorf("%.20q has no end", p.rest())
		}
		name := p.rest()[1:end]
		p.at += end + 1
		return &element{name: name, void: true}, nil
	}
	e := &element{name: tagName.FindString(p.rest())[1:]}
	p.at += 1 + len(e.name)
	if err := p.attributes(e); err != nil {
		return nil, err
	}
	e.void = e.slash || isVoid(e.name)
	if e.void {
		return e, nil
	}
	e.verbatim = e.isVerbatim()
	bodyAt := p.at
	if isRaw(e.name) {
		end := strings.Index(p.rest(), "</"+e.name)
		if end < 0 {
			return nil, begin.errorf("<%s> has no end tag", e.name)
		}
		p.at += end
	} else {
		body, err := p.list()
		if err != nil {
			return nil, err
		}
		e.body = body
	}
	endTag := "</" + e.name + ">"
	if !strings.HasPrefix(p.rest(), endTag) {
		return nil, begin.errorf("<%s> has no end tag before %.20q", e.name, p.rest())
	}
	if e.verbatim {
		e.raw = p.text[bodyAt:p.at]
		e.body = nil
	}
	p.at += len(endTag)
	return e, nil
}

var tagName = regexp.MustCompile(`^<[A-Za-z][A-Za-z0-9-]*`)

// isVoid reports whether an element has no body and no end tag.
func isVoid(name string) bool {
	switch name {
	case "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr":
		return true
	}
	return false
}

// isRaw reports whether < and > are text in the body of an element.
func isRaw(name string) bool {
	switch name {
	case "script", "style", "textarea", "title":
		return true
	}
	return false
}

// attributes reads the attributes and the end of a tag.
func (p *parser) attributes(e *element) error {
	for {
		p.space()
		rest := p.rest()
		switch {
		case strings.HasPrefix(rest, ">"):
			p.at++
			return nil
		case strings.HasPrefix(rest, "/>"):
			p.at += len("/>")
			e.slash = true
			return nil
		case strings.HasPrefix(rest, "{{"):
			a, err := p.controlledAttribute()
			if err != nil {
				return err
			}
			e.attrs = append(e.attrs, a)
		default:
			begin := p.at
			if err := p.skipAttribute(); err != nil {
				return err
			}
			e.attrs = append(e.attrs, attr{text: p.text[begin:p.at]})
		}
	}
}

// skipAttribute reads a name, and a value if there is one, up to white space, a control or the end of the
// tag.
func (p *parser) skipAttribute() error {
	for p.at < len(p.text) {
		rest := p.rest()
		switch {
		case isSpace(rest[0]), rest[0] == '>', strings.HasPrefix(rest, "/>"), strings.HasPrefix(rest, "{{"):
			return nil
		case rest[0] == '"', rest[0] == '\'':
			if err := p.skipValue(rest[0]); err != nil {
				return err
			}
		default:
			p.at++
		}
	}
	return p.errorf("the tag has no >")
}

// skipValue reads a quoted value, with the actions in it.
func (p *parser) skipValue(quote byte) error {
	begin := *p
	for p.at++; p.at < len(p.text); {
		switch {
		case p.text[p.at] == quote:
			p.at++
			return nil
		case strings.HasPrefix(p.rest(), "{{"):
			_, end, err := p.peekAction()
			if err != nil {
				return err
			}
			p.at = end
		default:
			p.at++
		}
	}
	return begin.errorf("the value has no closing quote")
}

// controlledAttribute reads a control around attributes.
func (p *parser) controlledAttribute() (a attr, err error) {
	for {
		text, end, err := p.peekAction()
		if err != nil {
			return attr{}, err
		}
		keyword := keywordOf(text)
		if keyword == "" {
			return attr{}, p.errorf("%s is not in the value of an attribute", text)
		}
		p.at = end
		if keyword == "end" {
			return a, nil
		}
		begin := p.at
		if err := p.skipAttributes(); err != nil {
			return attr{}, err
		}
		a.branches = append(a.branches, text, strings.TrimSpace(p.text[begin:p.at]))
	}
}

// skipAttributes reads attributes up to {{else}} or {{end}}.
func (p *parser) skipAttributes() error {
	for {
		p.space()
		if !strings.HasPrefix(p.rest(), "{{") {
			begin := p.at
			if err := p.skipAttribute(); err != nil {
				return err
			}
			if p.at == begin {
				return p.errorf("the tag ends within a control")
			}
			continue
		}
		text, _, err := p.peekAction()
		if err != nil {
			return err
		}
		keyword := keywordOf(text)
		if keyword == "else" || keyword == "end" {
			return nil
		}
		if _, err := p.controlledAttribute(); err != nil {
			return err
		}
	}
}
