package postgres

import (
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// The first statement of every transaction is one of these. Their timeouts make the
// server release the locks of a client that vanished within seconds. It cancels clients'
// reads before the client's timeout, which would close the connection.
const (
	settleEngine = `SELECT set_config('statement_timeout', '10s', true), set_config('plan_cache_mode', 'force_generic_plan', true), ` + settings
	settlePooled = `SELECT set_config('statement_timeout', '10s', true), set_config('plan_cache_mode', 'force_custom_plan', true), ` + settings
	settleReads  = `SELECT set_config('statement_timeout', '9s', true), set_config('plan_cache_mode', 'force_custom_plan', true), ` + settings
)

// settings are the options of all transactions. Those of the planner prefer indexes and
// lookups, because statistics of a queue are always outdated, and those of a new
// account are missing. No statement needs another kind of join: each looks up a bounded
// number of rows by their keys. None may take more than one core.
const settings = `set_config('idle_in_transaction_session_timeout', '5s', true), set_config('jit', 'off', true),
	set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'off', true),
	set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', 'off', true), set_config('max_parallel_workers_per_gather', '0', true)`

// settle returns the first statement of the class's transactions. Sessions of the engine
// keep plans for planLife, since planning costs more than most of its statements do.
// Behind a pooler statements have no plans to keep. Lists are planned each time: which
// partial index has what a filter selects depends on its values.
func (c class) settle(pooled bool) string {
	switch {
	case c != engine:
		return settleReads
	case pooled:
		return settlePooled
	}
	return settleEngine
}

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
