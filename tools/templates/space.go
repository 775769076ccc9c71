package main

import (
	"regexp"
	"slices"
	"strings"
)

// White space is insignificant next to the edges of boxes, and inside elements whose children are all
// boxes. What is a box depends on HTML's defaults and on our style sheets, pages.css and page.css.

// isBlock reports whether browsers ignore white space before and after an element: it is displayed as a
// block, or not at all, such as <meta>.
func (e *element) isBlock() bool {
	switch strings.ToLower(strings.Fields(e.name)[0]) {
	case "html", "head", "body", "meta", "link", "base", "title", "script", "style", "noscript",
		"header", "nav", "main", "section", "footer", "div", "p", "pre", "hr", "br",
		"h1", "h2", "h3", "h4", "h5", "h6", "ul", "ol", "li", "dl", "dt", "dd",
		"table", "caption", "thead", "tbody", "tfoot", "tr", "th", "td",
		"form", "fieldset", "details", "summary", "label", "select", "option", "textarea", "!doctype":
		return true
	case "input":
		return e.value("type") != "checkbox"
	}
	return false
}

// isHidden reports whether an element is not displayed where lines are, so that the white space before
// it adjoins that after it.
func (e *element) isHidden() bool { return e.name == "input" && e.value("type") == "hidden" }

// isContainer reports whether browsers ignore white space at the start and the end of the body.
func (e *element) isContainer() bool { return e.isBlock() || e.hasBoxes(nil) }

// hasBoxes reports whether browsers ignore white space around all children of an element: it is displayed
// as flex, inline-flex or grid, or contains only blocks.
func (e *element) hasBoxes(parent *element) bool {
	switch e.name {
	case "html", "head", "select", "svg", "dl", "ul", "ol", "table", "thead", "tbody", "tfoot", "tr", "button", "summary":
		return true
	case "li":
		return parent != nil && (parent.hasClass("numbers") || parent.hasClass("windows"))
	}
	for _, class := range e.classes() {
		switch class {
		case "actions", "bar", "brand", "button", "check", "head", "pager", "part", "secret", "side", "strip", "tabs":
			return true
		}
	}
	return false
}

// isVerbatim reports whether all white space in the body is shown, or the body is not HTML. The style sheet
// sets pre-wrap for a label's strong, and pre-line for the cells below.
func (e *element) isVerbatim() bool {
	switch e.name {
	case "pre", "script", "strong", "style", "textarea", "title":
		return true
	case "td", "dd":
		return e.hasClass("text") || e.hasClass("detail")
	}
	return false
}

func (e *element) classes() []string { return strings.Fields(e.value("class")) }

func (e *element) hasClass(name string) bool { return slices.Contains(e.classes(), name) }

// value returns the value of an attribute, "" if it has none.
func (e *element) value(name string) string {
	for _, a := range e.attrs {
		if value, found := strings.CutPrefix(a.text, name+"="); found {
			return strings.Trim(value, `"'`)
		}
	}
	return ""
}

var silentForm = regexp.MustCompile(`^\{\{(/\*|\$\w*(, \$\w*)? :?= )`)

// isSilent reports whether an action does not write.
func (a action) isSilent() bool { return silentForm.MatchString(string(a)) }

// isDefine reports whether a control only defines a template, without output.
func (c *control) isDefine() bool { return keywordOf(c.branches[0].head) == "define" }

func (c *control) isRange() bool { return keywordOf(c.branches[0].head) == "range" }

// maySkip reports whether a control may use none of its branches.
func (c *control) maySkip() bool {
	return c.branches[len(c.branches)-1].head != "{{else}}" && keywordOf(c.branches[0].head) != "block"
}

// spaces is a list and its surroundings.
type spaces struct {
	*list

	parent *element
	boxes  bool // all its elements are boxes
	// before and after report whether white space is insignificant at the start and at the end of the
	// list, because of what is around it.
	before, after func() bool
}

func always() bool { return true }
func never() bool  { return false }

// setFree sets the field free of all gaps of a template.
func setFree(l *list) {
	spaces{list: l, before: always, after: always}.set()
}

func (s spaces) set() {
	for i := range s.gaps {
		s.gaps[i].free = s.endsBefore(i) || s.beginsAt(i)
	}
	for i, n := range s.nodes {
		switch n := n.(type) {
		case *element:
			if n.body == nil {
				continue
			}
			n.boxes = n.hasBoxes(s.parent)
			spaces{list: n.body, parent: n, boxes: n.boxes, before: n.isContainer, after: n.isContainer}.set()
		case *control:
			for _, b := range n.branches {
				s.in(b.body, i).set()
			}
		}
	}
}

// in returns the surroundings of a body of the control at an index.
func (s spaces) in(body *list, i int) spaces {
	inner := spaces{list: body, parent: s.parent, boxes: s.boxes}
	c := s.nodes[i].(*control)
	if c.isDefine() {
		inner.before, inner.after = never, never // unknown
		return inner
	}
	before := func() bool { return s.endsBefore(i) }
	after := func() bool { return s.beginsAt(i + 1) }
	inner.before, inner.after = before, after
	if c.isRange() { // the neighbor may also be the body's other end
		again := spaces{list: body, parent: s.parent, boxes: s.boxes, before: before, after: after}
		inner.before = func() bool { return before() && again.endsBefore(len(body.gaps)-1) }
		inner.after = func() bool { return after() && again.beginsAt(0) }
	}
	return inner
}

// beginsAt reports whether all that may be written first from a gap on is white space or a box.
func (s spaces) beginsAt(i int) bool {
	if s.gaps[i].space {
		return true
	}
	if i == len(s.nodes) {
		return s.after()
	}
	switch n := s.nodes[i].(type) {
	case *element:
		if n.isHidden() {
			return s.beginsAt(i + 1)
		}
		return s.boxes || n.isBlock()
	case action:
		return n.isSilent() && s.beginsAt(i+1)
	case *control:
		if n.isDefine() {
			return s.beginsAt(i + 1)
		}
		for _, b := range n.branches {
			inner := s.in(b.body, i)
			inner.after = func() bool { return s.beginsAt(i + 1) }
			if !inner.beginsAt(0) {
				return false
			}
		}
		return !n.maySkip() || s.beginsAt(i+1)
	default:
		return false
	}
}

// endsBefore reports whether all that may be written last before a gap is white space or a box.
func (s spaces) endsBefore(i int) bool {
	if s.gaps[i].space {
		return true
	}
	if i == 0 {
		return s.before()
	}
	switch n := s.nodes[i-1].(type) {
	case *element:
		if n.isHidden() {
			return s.endsBefore(i - 1)
		}
		return s.boxes || n.isBlock()
	case action:
		return n.isSilent() && s.endsBefore(i-1)
	case *control:
		if n.isDefine() {
			return s.endsBefore(i - 1)
		}
		for _, b := range n.branches {
			inner := s.in(b.body, i-1)
			inner.before = func() bool { return s.endsBefore(i - 1) }
			if !inner.endsBefore(len(b.body.gaps) - 1) {
				return false
			}
		}
		return !n.maySkip() || s.endsBefore(i-1)
	default:
		return false
	}
}
