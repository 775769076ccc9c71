// Package pgpooler notices a connection pooler between petcat and PostgreSQL.
//
// A pooler such as pgbouncer may give each transaction another connection. What one
// transaction leaves on its connection, prepared statements and settings, is then not
// there for the next.
package pgpooler

import (
	"context"
	"strings"

	"github.com/jackc/pgx/v5"

	"petcat"
)

// ChooseMode makes connections of config use statements that are prepared once for each
// connection, which is cheaper, when the server itself is at the other end of conn.
// Behind a pooler, statements are prepared on each use. The address may choose itself,
// with default_query_exec_mode.
func ChooseMode(ctx context.Context, conn *pgx.Conn, config *pgx.ConnConfig, address petcat.Secret) error {
	if strings.Contains(address.Reveal(), "default_query_exec_mode") {
		return nil
	}
	direct, err := IsDirect(ctx, conn)
	if err == nil && !direct {
		config.DefaultQueryExecMode = pgx.QueryExecModeExec
	}
	return err
}

// IsDirect reports whether the server itself is at the other end, and no pooler.
func IsDirect(ctx context.Context, conn *pgx.Conn) (bool, error) {
	var pid uint32
	err := conn.QueryRow(ctx, "SELECT pg_backend_pid()", pgx.QueryExecModeExec).Scan(&pid)
	// A pooler makes up the process number that it tells its clients.
	return pid == conn.PgConn().PID(), err
}
