package postgres

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// commonSettings are the options of all sessions. Their timeouts make the server release the
// locks of a client that vanished within seconds. Those of the planner prefer indexes and
// lookups, because statistics of a queue are always outdated, and those of a new
// account are missing. No statement needs another kind of join: each looks up a bounded
// number of rows by their keys. None may take more than one core.
var commonSettings = map[string]string{
	"statement_timeout": "10s", "idle_in_transaction_session_timeout": "5s", "plan_cache_mode": "force_custom_plan",
	"enable_seqscan": "off", "enable_bitmapscan": "off", "enable_hashjoin": "off", "enable_mergejoin": "off",
	"jit": "off", "max_parallel_workers_per_gather": "0",
}

// settings returns the options of the class's sessions. Clients' reads are cancelled
// before the client's timeout, which would close the connection. Sessions of the engine
// keep plans for planLife, since planning costs more than most of its statements do.
// Behind a pooler statements have no plans to keep. Lists are planned each time: which
// partial index has what a filter selects depends on its values.
func (c class) settings(pooled bool) map[string]string {
	all := maps.Clone(commonSettings)
	switch {
	case c != engine:
		all["statement_timeout"] = "9s"
	case !pooled:
		all["plan_cache_mode"] = "force_generic_plan"
	}
	return all
}

// setStatements has, by class, the statement with which a transaction begins behind a
// pooler, where sessions are shared with others.
var setStatements = func() (all [classes]string) {
	for c := range all {
		var set []string
		for name, value := range class(c).settings(true) {
			set = append(set, fmt.Sprintf("set_config('%s', '%s', true)", name, value))
		}
		slices.Sort(set)
		all[c] = "SELECT " + strings.Join(set, ", ")
	}
	return all
}()

// planLife is how long a session keeps plans. One that was made while a table was small
// may read the whole table later. So it bounds how long that lasts, and how much the
// table can have grown.
const planLife = time.Second

// oldPlans reports whether a connection's session must forget its plans, which the
// caller then tells it.
func oldPlans(conn *pgconn.PgConn) bool {
	now := time.Now()
	since, known := conn.CustomData()[plansSince].(time.Time)
	if known && now.Sub(since) < planLife {
		return false
	}
	conn.CustomData()[plansSince] = now
	return known
}

// plansSince is the key of the time since when a connection's session keeps its plans.
const plansSince = "plans since"
