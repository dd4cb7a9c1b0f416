package postgres

import (
	"fmt"

	"github.com/jackc/pgx/v5/pgconn"
)

// Where commits wait for a standby, one that no standby has can be lost, though it
// is on the primary's disk: when the standby is promoted. The server shows it to
// others nevertheless, after the wait was cancelled: by a client that gave up, an
// operator, the timeout of the statement, or a crash and a restart. So neither the
// answer to such a commit nor what another transaction reads of it may be
// acknowledged.

// awaitStandby makes a transaction that has changed nothing wait for the standby too,
// and thus for what it has read: without a change, its commit would wait for nothing.
var awaitStandby = query{sql: `SELECT pg_logical_emit_message(true, 'punctual', '')
	WHERE pg_current_xact_id_if_assigned() IS NULL AND current_setting('synchronous_standby_names') <> ''`}

// unreplicated is the key of a connection's mark that a commit on it was cancelled
// while it waited for the standby.
const unreplicated = "unreplicated"

// noteUnreplicated marks a connection whose server warns that it stopped waiting for
// the standby. The warning has no code, and its text may be translated.
func noteUnreplicated(conn *pgconn.PgConn, n *pgconn.Notice) {
	if n.Routine == "SyncRepWaitForLSN" {
		conn.CustomData()[unreplicated] = true
	}
}

func forgetUnreplicated(conn *pgconn.PgConn) { delete(conn.CustomData(), unreplicated) }

// replicated returns an error if the standby may lack what was just committed.
func replicated(conn *pgconn.PgConn) error {
	if conn.CustomData()[unreplicated] == nil {
		return nil
	}
	return fmt.Errorf("%w: the server has stopped waiting for the standby", errUnknown)
}
