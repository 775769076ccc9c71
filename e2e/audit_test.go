package e2e

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// headIn finds the head of the audit log that a server has logged.
var headIn = regexp.MustCompile(`"head":"(\d+:[0-9a-f]{64})"`)

// serveForHead serves until the log shows the head of the audit log, and returns it.
func serveForHead(t *testing.T, data string) (head string) {
	t.Helper()
	s := serve(t, data)
	eventually(t, 5*time.Second, "the log shows the head of the audit log", func() bool {
		found := headIn.FindStringSubmatch(s.log.String())
		if found != nil {
			head = found[1]
		}
		return found != nil
	})
	s.mustStop()
	return head
}

// wantAuditFaults runs a command, which finds exactly these faults in the audit log.
func wantAuditFaults(t *testing.T, args []string, want ...string) {
	t.Helper()
	code, stdout, stderr := petcatRuns(t, args...)
	faults := regexp.MustCompile(`(?m)^fault: (.*)$`).FindAllStringSubmatch(stdout, -1)
	if len(faults) != len(want) || len(want) > 0 && code != exitFailed || len(want) == 0 && code != exitDone {
		t.Fatalf("petcat %s ended with %d:\n%s%s", strings.Join(args, " "), code, stdout, stderr)
	}
	for i, fault := range faults {
		if !strings.HasPrefix(fault[1], want[i]) {
			t.Errorf("petcat %s found %q, want %q", strings.Join(args, " "), fault[1], want[i])
		}
	}
}

// TestAuditLogThatWasAltered: somebody alters the audit log behind petcat's back.
func TestAuditLogThatWasAltered(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	data, file := filepath.Join(dir, "data"), filepath.Join(dir, "a.backup")
	newCaller(t, data)
	for _, name := range []string{"zoo", "shop", "farm"} {
		petcatDoes(t, data, "account", "create", name, "--plan", "free")
	}
	head := serveForHead(t, data)
	verify := append([]string{"audit", "verify"}, placeFlags(data)...)
	if !strings.HasPrefix(head, "5:") || !strings.Contains(mustRun(t, verify...), "its head is "+head+".\n") {
		t.Errorf("the log shows the head %s", head)
	}
	withHead := append(verify, "--head", head)
	wantAuditFaults(t, withHead)

	// Who can write the file can also do without the triggers.
	alterFile(t, data, `DROP TRIGGER audit_not_updated; DROP TRIGGER audit_not_deleted;
		UPDATE audit SET sequence = 99 WHERE sequence = 2; UPDATE audit SET sequence = 2 WHERE sequence = 4; UPDATE audit SET sequence = 4 WHERE sequence = 99`)
	reordered := []string{"audit entry 2 was written as entry 4", "audit entry 4 was written as entry 2"}
	wantAuditFaults(t, withHead, reordered...)
	petcatDoes(t, data, "backup", file)
	wantAuditFaults(t, []string{"verify", file}, reordered...)
	alterFile(t, data, `DELETE FROM audit WHERE sequence IN (2, 5); UPDATE audit SET detail = '{}' WHERE sequence = 1`)
	wantAuditFaults(t, withHead, "audit entry 1 does not carry the hash", "audit entry 2 is missing: the log continues with entry 3",
		"audit entry 4 was written as entry 2: entries were reordered", "audit entry 5 is missing: the head of entry 5 was kept")
}

// TestAuditTailIsMissed: that the newest entries are missing can only be seen with a head
// from the log. Heads stay true in a copy.
func TestAuditTailIsMissed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	data, file, restored := filepath.Join(dir, "data"), filepath.Join(dir, "a.backup"), filepath.Join(dir, "restored")
	newCaller(t, data)
	first := serveForHead(t, data)
	petcatDoes(t, data, "account", "create", "zoo", "--plan", "free")
	second := serveForHead(t, data)
	petcatDoes(t, data, "backup", file)

	alterFile(t, data, `DROP TRIGGER audit_not_deleted; DELETE FROM audit WHERE sequence = 3`)
	verify := append([]string{"audit", "verify"}, placeFlags(data)...)
	wantAuditFaults(t, verify)
	wantAuditFaults(t, append(verify, "--head", first))
	wantAuditFaults(t, append(verify, "--head", second, "--head", first), "audit entry 3 is missing: the head of entry 3 was kept")
	petcatDoes(t, data, "account", "create", "shop", "--plan", "free")
	wantAuditFaults(t, append(verify, "--head", second), "audit entry 3 is not the one whose head was kept as "+second)

	petcatDoes(t, restored, "restore", file)
	verify = append([]string{"audit", "verify"}, placeFlags(restored)...)
	wantAuditFaults(t, append(verify, "--head", first, "--head", second))
}
