package catalog

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/petcat-api/petcat"
)

// name returns the name of the list at a revision of this dataset. ETags and cursors contain it.
func (s *Snapshot) name(r petcat.Revision) string {
	return s.dataset + "-" + strconv.FormatInt(int64(r), 10)
}

// Revision returns the revision of the last change in the list.
func (s *Snapshot) Revision() petcat.Revision { return s.revision }

// Begin returns the position of a new reader.
func (s *Snapshot) Begin() petcat.ChangePosition { return petcat.ChangePosition{Begun: s.revision} }

// Cursor returns a position as a text that clients do not interpret.
func (s *Snapshot) Cursor(p petcat.ChangePosition) string {
	return s.name(p.After) + "-" + strconv.FormatInt(int64(p.Begun), 10)
}

// ParseCursor parses the result of Cursor. It returns a [petcat.Error] with
// [petcat.CodeInvalidField], or [petcat.CursorExpired] for a cursor of another dataset.
func (s *Snapshot) ParseCursor(text string) (petcat.ChangePosition, error) {
	name, begun, _ := cutNumber(text)
	dataset, after, valid := cutNumber(name)
	p := petcat.ChangePosition{After: after, Begun: begun}
	switch {
	case !valid || dataset == "":
		return p, petcat.Errorf(petcat.CodeInvalidField,
			"after must be the cursor in the link to the next page; to read all changes, leave it out").In("after")
	case dataset != s.dataset:
		return p, petcat.CursorExpired()
	default:
		return p, nil
	}
}

// cutNumber cuts a text before the hyphen and the number at its end. If there is none, before is "".
func cutNumber(text string) (before string, r petcat.Revision, found bool) {
	i := strings.LastIndexByte(text, '-')
	if i < 0 {
		return "", 0, false
	}
	n, err := strconv.ParseUint(text[i+1:], 10, 63)
	if err != nil {
		return "", 0, false
	}
	return text[:i], petcat.Revision(n), true // #nosec G115 -- it has 63 bits
}

// AppendChange appends the JSON of a change to the parts of an array, with a comma after it. A category
// that changed up to the revision of the list is the one of the list.
func (s *Snapshot) AppendChange(parts [][]byte, c petcat.RevisedCategory) ([][]byte, error) {
	start := strconv.AppendInt([]byte(objectStart), int64(c.ID), 10)
	if c.Deleted {
		return append(parts, append(start, `,"deleted":true},`...)), nil
	}
	start = append(start, `,"category":`...)
	if c.Revision > s.revision {
		object, err := AppendCategory(start, c.Category)
		return append(parts, append(object, "},"...)), err
	}
	object, found := s.object(c.ID)
	if !found {
		return nil, fmt.Errorf("catalog: the list of revision %d lacks category %d, which changed in revision %d",
			s.revision, c.ID, c.Revision)
	}
	return append(parts, start, object, []byte("},")), nil
}
