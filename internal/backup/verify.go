package backup

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"time"

	"petcat"
	"petcat/internal/openerror"
	"petcat/internal/sqlite"
)

// Verify reads all of a backup. It returns one sentence for each fault, none for a sound
// backup; the zero Info for a damaged file; and an [openerror.Error] for a file that is no finished backup of petcat.
func Verify(ctx context.Context, path string) (Info, []string, error) {
	f, err := Open(ctx, path)
	if err != nil {
		return Info{}, nil, err
	}
	defer func() { _ = f.Close() }()
	if err := f.wantFinished(ctx); err != nil {
		return Info{}, nil, err
	}
	findings, err := sqlite.Integrity(ctx, f.conn)
	if err != nil || len(findings) > 0 {
		return Info{}, findings, err // the pages of a damaged file may lead in a circle
	}
	i, err := f.info(ctx)
	checks := []func(context.Context) ([]string, error){f.checkSums, f.checkAudit}
	for n := 0; err == nil && n < len(checks); n++ {
		var found []string
		found, err = checks[n](ctx)
		findings = append(findings, found...)
	}
	if ctx.Err() != nil {
		return i, nil, context.Cause(ctx)
	}
	if err != nil { // nothing else uses the file, so the file is the reason
		findings = append(findings, "not every row can be read: "+err.Error())
	}
	return i, findings, nil
}

func (f *File) wantFinished(ctx context.Context) error {
	var finished bool
	err := f.conn.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE name = 'checksum')`).Scan(&finished)
	if err == nil && !finished {
		return openerror.Errorf(openerror.Foreign, nil, "it is not a finished backup (it has no table checksum)")
	}
	if err != nil && ctx.Err() == nil {
		return openerror.Errorf(openerror.Foreign, err, "it is damaged (%v)", err)
	}
	return err
}

// checkSums compares the tables with what the table checksum says of them.
func (f *File) checkSums(ctx context.Context) (findings []string, err error) {
	written, err := f.written(ctx)
	if err != nil {
		return nil, err
	}
	computed, err := f.computed(ctx)
	if err != nil {
		return nil, err
	}
	for _, table := range slices.Sorted(maps.Keys(computed)) {
		now := computed[table]
		was, found := written[table]
		delete(written, table)
		switch {
		case !found:
			findings = append(findings, fmt.Sprintf("%s: the table checksum does not have it", table))
		case now.rows != was.rows:
			findings = append(findings, fmt.Sprintf("%s: it has %d rows, and had %d", table, now.rows, was.rows))
		case now != was:
			findings = append(findings, table+": a row has changed since the backup was made")
		}
	}
	for _, table := range slices.Sorted(maps.Keys(written)) {
		findings = append(findings, fmt.Sprintf("%s: the table is missing", table))
	}
	return findings, nil
}

// checkAudit checks the chain of the audit log.
func (f *File) checkAudit(ctx context.Context) ([]string, error) {
	var check petcat.AuditCheck
	err := f.each(ctx, func(rows *sql.Rows) error {
		var e petcat.AuditEntry
		var at int64
		var hash []byte
		if err := rows.Scan(&e.Sequence, &at, (*string)(&e.Actor), &e.Action, &e.Subject, &e.Detail, &hash); err != nil {
			return err
		}
		e.At = time.UnixMilli(at).UTC()
		copy(e.Hash[:], hash)
		check.Add(e)
		return nil
	}, `SELECT sequence, at, actor, action, subject, detail, hash FROM audit ORDER BY sequence`)
	return AuditFindings(&check), err
}

// AuditFindings returns one sentence for each fault of an audit log that was checked.
func AuditFindings(check *petcat.AuditCheck) []string {
	findings, more := check.Faults()
	if more > 0 {
		findings = append(findings, fmt.Sprintf("there are %d more faults of the audit log", more))
	}
	return findings
}
