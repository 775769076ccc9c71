//go:build faults

package fault

import "testing"

func TestParse(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		point      Point
		kill       bool
		at         int64
		fails      bool
	}{
		{name: "nothing", text: "", at: 1},
		{name: "kill", text: "before_commit=kill", point: BeforeCommit, kill: true, at: 1},
		{name: "kill at the third hit", text: "lease_write=kill@3", point: LeaseWrite, kill: true, at: 3},
		{name: "error", text: "after_commit_before_reply=error", point: AfterCommitBeforeReply, at: 1},
		{name: "an unknown point", text: "somewhere=kill", fails: true},
		{name: "an unknown action", text: "before_commit=explode", fails: true},
		{name: "no action", text: "before_commit", fails: true},
		{name: "a count of 0", text: "before_commit=kill@0", fails: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, err := parse(tt.text)
			if (err != nil) != tt.fails {
				t.Fatalf("parse(%q) = error %v, want an error: %v", tt.text, err, tt.fails)
			}
			if err == nil && (p.point != tt.point || p.kill != tt.kill || p.at != tt.at) {
				t.Errorf("parse(%q) = %q kill=%v at=%d, want %q %v %d", tt.text, p.point, p.kill, p.at, tt.point, tt.kill, tt.at)
			}
		})
	}
}
