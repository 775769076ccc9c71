package archtest

import (
	"fmt"
	"path"
	"regexp"
	"strings"
	"testing"
)

// maxRecordLines is one page.
const maxRecordLines = 70

func TestDecisionRecords(t *testing.T) {
	p := loadProject(t)
	var records []string
	for _, file := range p.matching(t, ".md") {
		if path.Dir(file) == "docs/decisions" {
			records = append(records, file)
		}
	}
	if len(records) == 0 {
		t.Fatal("there are no decision records")
	}
	for i, file := range records {
		number := fmt.Sprintf("%04d", i+1)
		if !strings.HasPrefix(path.Base(file), number+"-") {
			t.Errorf("%s: the numbers run from 0001 without gaps; %s is next", file, number)
		}
		text := p.read(t, file)
		if !strings.HasPrefix(text, "# "+number+". ") {
			t.Errorf("%s: the first line is # %s. and the title", file, number)
		}
		if !regexp.MustCompile(`(?m)^Status: (accepted|superseded by [0-9]{4})\b`).MatchString(text) {
			t.Errorf("%s: there is no line Status: accepted, or superseded by NNNN", file)
		}
		at := 0
		for _, part := range []string{"Context", "Options", "Choice", "What would change our mind"} {
			next := strings.Index(text, "\n## "+part+"\n")
			if next < at {
				t.Errorf("%s: the part %q is missing or out of order", file, part)
				break
			}
			at = next
		}
		if lines := strings.Count(text, "\n"); lines > maxRecordLines {
			t.Errorf("%s has %d lines; a record is one page, %d", file, lines, maxRecordLines)
		}
	}
	mention := regexp.MustCompile(`(?i)\bdecisions? ([0-9]{4})\b`)
	for _, file := range p.files {
		for _, m := range mention.FindAllStringSubmatch(p.read(t, file), -1) {
			if found := strings.Join(records, "\n"); !strings.Contains(found, "/"+m[1]+"-") {
				t.Errorf("%s refers to decision %s, which is not written", file, m[1])
			}
		}
	}
}
