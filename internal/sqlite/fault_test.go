//go:build faults && !windows

package sqlite

import (
	"errors"
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"petcat/internal/fault"
)

func TestKilledAroundTheCommit(t *testing.T) {
	for _, tt := range []struct {
		point fault.Point
		want  []string // categories after the next start
	}{
		{fault.BeforeCommit, nil},
		{fault.AfterCommitBeforeReply, []string{"Dogs"}},
	} {
		t.Run(string(tt.point), func(t *testing.T) {
			dir := t.TempDir()
			out, err := child(t, "create", dir, fault.Variable+"="+string(tt.point)+"=kill")
			exit, ok := errors.AsType[*exec.ExitError](err)
			if !ok || exit.Sys().(interface{ Signal() unix.Signal }).Signal() != unix.SIGKILL {
				t.Fatalf("the process was not killed: %v: %s", err, out)
			}
			s := openAt(t, dir, Options{Serving: true})
			defer closeNow(t, s)
			wantNames(t, s, tt.want...)
			repeated, err := tryCreate(t.Context(), t, s, "Dogs", "k")
			if err != nil || repeated.Category.ID != 1 || repeated.Replayed != (tt.want != nil) {
				t.Errorf("the repetition: %+v, %v", repeated, err)
			}
			wantNames(t, s, "Dogs")
		})
	}
}

func TestUnknownOutcomeIsNoSuccess(t *testing.T) {
	for _, point := range []fault.Point{fault.BeforeCommit, fault.AfterCommitBeforeReply} {
		t.Run(string(point), func(t *testing.T) {
			out, err := child(t, "create", t.TempDir(), fault.Variable+"="+string(point)+"=error")
			if err == nil || strings.Contains(out, "created") || !strings.Contains(out, "service_unavailable") {
				t.Errorf("got %v: %s", err, out)
			}
		})
	}
}
