package server

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"petcat"
)

// unread is a backend whose audit log cannot be read.
type unread struct{ backend }

func (unread) EachAuditEntry(context.Context, petcat.AuditQuery, func(petcat.AuditEntry) error) error {
	return errors.New("no answer")
}

// headOf returns the head of a node's audit log.
func headOf(t *testing.T, n *Node) (head petcat.AuditHead) {
	t.Helper()
	must(0, n.backend.EachAuditEntry(t.Context(), petcat.AuditQuery{Newest: 1}, func(e petcat.AuditEntry) error {
		head = petcat.AuditHead{Sequence: e.Sequence, Hash: e.Hash}
		return nil
	}))
	return head
}

// TestAuditHeadIsLogged: at the start and each day, with what was altered since.
func TestAuditHeadIsLogged(t *testing.T) {
	t.Parallel()
	n := startTestNode(t, func(*Options) {})
	db := must(sql.Open("sqlite", filepath.Join(n.settings.Data, "petcat.db")))
	defer func() { _ = db.Close() }()
	free := must(petcat.ParseSubscription("free", 0, 0))
	accounts := 0
	add := func(entries int) {
		for range entries {
			accounts++
			must(n.backend.CreateAccount(t.Context(), "cli:ada", must(petcat.ParseNewAccount(fmt.Sprint("a", accounts), free))))
		}
	}
	var log bytes.Buffer
	n.auditChecks.close() // it checks when the test says so
	w := n.audit
	w.logger = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey || a.Key == slog.MessageKey {
				return slog.Attr{}
			}
			return a
		},
	}))
	check := func(when string, wait time.Duration, want string) {
		t.Helper()
		w.check(t.Context())
		if w.wait != wait {
			t.Errorf("%s: the next check is in %s, want %s", when, w.wait, wait)
		}
		if diff := cmp.Diff(want+"\n", log.String()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", when, diff)
		}
		log.Reset()
	}
	told := func(head petcat.AuditHead) string { return "level=INFO head=" + head.String() }

	check("an empty log", auditInterval, told(petcat.AuditHead{}))
	add(8)
	kept := headOf(t, n)
	check("more of them", auditInterval, told(kept))

	w.store = unread{n.backend}
	check("the database does not answer", auditRetry, `level=WARN error="no answer"`)
	w.store = n.backend
	check("it answers again", auditInterval, told(kept))

	alter := func(statement string) {
		t.Helper()
		must(db.ExecContext(t.Context(), statement))
	}
	alter(`DROP TRIGGER audit_not_updated; DROP TRIGGER audit_not_deleted`)
	alter(`DELETE FROM audit WHERE sequence > 6`)
	add(4)
	end := headOf(t, n)
	check("the tail was replaced", auditRetry,
		fmt.Sprintf(`level=ERROR first="audit entry 8 is not the one whose head was kept as %s: it, or one before it, was replaced" faults=1 head=%s`, kept, kept))
	check("what replaced it", auditInterval, told(end))
	n.wantMetric(t, "petcat_audit_faults_total", 1)
}
