package backup

import (
	"fmt"
	"slices"

	"petcat"
)

// maxFindings is how many findings are kept: after so many, one knows enough.
const maxFindings = 20

// Findings are the faults that a check found, one sentence for each. It keeps the
// first ones and counts the others. The zero value is empty.
type Findings struct {
	kept []string
	more int
}

// Add notes faults.
func (f *Findings) Add(faults ...string) {
	for _, fault := range faults {
		if len(f.kept) < maxFindings {
			f.kept = append(f.kept, fault)
		} else {
			f.more++
		}
	}
}

// AddAudit notes the faults of an audit log.
func (f *Findings) AddAudit(c *petcat.AuditCheck) {
	faults, more := c.Faults()
	f.Add(faults...)
	f.more += more
}

// All returns what was found.
func (f *Findings) All() []string {
	if f.more == 0 {
		return f.kept
	}
	return append(slices.Clip(f.kept), fmt.Sprintf("there are %d more faults of such kinds", f.more))
}
