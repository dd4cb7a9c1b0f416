package pages

import (
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"
)

const (
	chunk    = 200_000 // rows that one statement adds, about
	month    = 28 * 24 * time.Hour
	copies   = 100     // of each schedule that the service made: 2,000
	disabled = 300_000 // schedules of another account
	others   = 200     // further accounts
	alerting = 2_000   // copies of messages about alerts
	audited  = 5_000   // copies of entries of the audit log
	runs     = 10_000  // copies of each workflow run
	minutes  = 7 * 24 * 60
)

// ofJob joins the jobs of rows.
const ofJob = " JOIN jobs j ON j.account = p.account AND j.number = p.number"

// filling copies the rows that the service made for an account.
type filling struct {
	t       *testing.T
	db      database
	now     int64 // in microseconds
	account string
	first   int64 // number of the account's first job
	span    int64 // numbers from the first to the last
	jobs    int64 // jobs that are copied
	done    int64 // highest number of a job in use
}

func (f *filling) ok(err error) {
	f.t.Helper()
	if err != nil {
		f.t.Fatal(err)
	}
}

func (f *filling) number(sql string) int64 {
	f.t.Helper()
	rows, err := f.db.rows(sql)
	f.ok(err)
	var n int64
	if len(rows) > 0 {
		_, _ = fmt.Sscan(rows[0][0], &n)
	}
	return n
}

// fill copies rows until there are n jobs, and deletes those that the service made.
func fill(t *testing.T, db database, email string, n int) {
	f := &filling{t: t, db: db, now: time.Now().UnixMicro()}
	f.account = fmt.Sprint(f.number("SELECT number FROM accounts WHERE email = '" + email + "'"))
	ours := "FROM jobs WHERE account = " + f.account
	f.first, f.done = f.number("SELECT min(number) "+ours), f.number("SELECT max(number) FROM jobs")
	f.span, f.jobs = f.number("SELECT max(number) "+ours)-f.first+1, f.number("SELECT count(*) "+ours)
	restore := f.withoutIndexes("jobs") // the prototypes of logs are found by theirs
	some := max(1, min(copies, n/50))
	f.accounts()
	f.schedules(f.account, some, "p.disabled_at")
	f.schedules(f.other(1), max(1, min(disabled, n)/20), fmt.Sprint(f.now))
	k := max(1, n*4/5/int(f.jobs))
	f.step("jobs of the large account", func() { f.copyJobs(f.account, k, some) })
	f.step("jobs of other accounts", func() { f.copyJobs("", max(1, n/5/int(f.jobs)), some) })
	f.pendingRuns(some)
	f.rest(k)
	f.deletePrototypes()
	f.step("indexes", restore)
	f.step("statistics", func() { f.ok(db.finish()) })
}

func (f *filling) step(what string, do func()) {
	began := time.Now()
	do()
	f.t.Logf("%s: %v", what, time.Since(began).Round(100*time.Millisecond))
}

// withoutIndexes drops indexes and returns what builds them again.
func (f *filling) withoutIndexes(table string) func() {
	found, err := f.db.rows(f.db.indexes(table))
	f.ok(err)
	for _, index := range found {
		f.ok(f.db.exec("DROP INDEX " + index[0]))
	}
	return func() {
		for _, index := range found {
			f.ok(f.db.exec(index[1]))
		}
	}
}

// add copies rows p of a table that match a condition, for each k from one to another,
// with other values in some columns.
func (f *filling) add(table, from, where string, first, last int, values map[string]string) {
	f.t.Helper()
	columns, err := names(f.db, table)
	f.ok(err)
	exprs := make([]string, len(columns))
	for i, c := range columns {
		if exprs[i] = "p." + c; values[c] != "" {
			exprs[i] = values[c]
		}
		columns[i] = `"` + c + `"`
	}
	if from == "" {
		from = table + " p"
	}
	each := max(1, int(chunk/max(1, f.number("SELECT count(*) FROM "+from+" WHERE "+where))))
	for at := first; at <= last; at += each {
		f.ok(f.db.exec(fmt.Sprintf("INSERT INTO %s (%s) SELECT %s FROM %s, %s WHERE %s ORDER BY s.k", table, strings.Join(columns, ", "),
			strings.Join(exprs, ", "), from, f.db.series(at, min(at+each-1, last)), where)))
	}
}

// other is the number of a further account.
func (f *filling) other(k any) string { return fmt.Sprintf("(1000 + %v)", k) }

func (f *filling) accounts() {
	where := "p.number = " + f.account
	id := f.db.id(f.changed("p.id", "s.k"))
	accounts := map[string]string{"number": f.other("s.k"), "id": id, "email": "'other-' || s.k || '@example.com'"}
	if f.number("SELECT count(*) FROM accounts WHERE number > 1000") == 0 {
		columns, err := names(f.db, "accounts")
		f.ok(err)
		exprs := make([]string, len(columns))
		for i, c := range columns {
			if exprs[i] = "p." + c; accounts[c] != "" {
				exprs[i] = accounts[c]
			}
		}
		// PostgreSQL assigns the numbers of accounts, unless it is told to take these.
		overriding := ""
		if _, postgres := f.db.(*postgresDatabase); postgres {
			overriding, columns, exprs = "OVERRIDING SYSTEM VALUE", append(columns, "number"), append(exprs, accounts["number"])
		}
		f.ok(f.db.exec(fmt.Sprintf("INSERT INTO accounts (%s) %s SELECT %s FROM accounts p, %s WHERE %s",
			strings.Join(columns, ", "), overriding, strings.Join(exprs, ", "), f.db.series(1, others), where)))
	}
}

// changed is the digits of an id with others at the end.
func (f *filling) changed(id, number string) string {
	return "substr(" + f.db.digits(id) + ", 1, 20) || " + f.db.hex(number)
}

// timed is the digits of an id that was made at another time.
func (f *filling) timed(id, micros, number string) string {
	return f.db.hex("("+micros+") / 1000") + " || substr(" + f.db.digits(id) + ", 13, 8) || " + f.db.hex(number)
}

// scheduled is the id of the copy of a schedule; null for none.
func (f *filling) scheduled(id, copyOf string) string {
	return "CASE WHEN " + id + " IS NOT NULL THEN " + f.db.id(f.changed(id, copyOf)) + " END"
}

func (f *filling) schedules(account string, n int, disabledAt string) {
	where, mine, k := "p.account = "+f.account, account == f.account, "s.k"
	if !mine {
		k = "1000000000 + s.k" // ids are of no other account
	}
	made := where + " AND p.name NOT LIKE '% copy %'"
	values := map[string]string{"account": account, "id": f.db.id(f.changed("p.id", k)),
		"name": "p.name || ' copy ' || s.k", "key": "p.key || '-' || s.k"}
	if !mine {
		values["disabled_at"] = disabledAt
	}
	f.add("schedules", "", made, 1, n, values)
	f.add("schedule_tags", "schedule_tags p JOIN schedules d ON d.account = p.account AND d.id = p.id",
		strings.ReplaceAll(made, "p.name", "d.name"), 1, n, map[string]string{"account": account, "id": values["id"]})
	if mine {
		f.add("revisions", "revisions p JOIN schedules d ON d.account = p.account AND d.id = p.record", where, 1, n,
			map[string]string{"record": f.db.id(f.changed("p.record", "s.k"))})
	}
}

// copyJobs copies all jobs but the pending runs of schedules with their logs, deliveries
// and queue items, k times; to other accounts in turn if there is no account.
func (f *filling) copyJobs(account string, k, schedules int) {
	step := month.Microseconds() / int64(k+1)
	shift := fmt.Sprintf("(%d - s.k) * %d", k, step)
	base := f.done - f.first + 1
	f.done += int64(k) * f.span
	number := func(column string) string { return fmt.Sprintf("(%d + (s.k - 1) * %d + %s)", base, f.span, column) }
	of, copyOf := account, fmt.Sprintf("(1 + s.k %% %d)", schedules)
	values, ids := map[string]string{}, "s.k * 1000 + j.number % 1000"
	if account == "" {
		ids = "1000000000000 + " + ids
		of = f.other(fmt.Sprintf("1 + s.k %% %d", others))
		values["schedule_id"] = "NULL"
	} else {
		values["schedule_id"] = f.scheduled("p.schedule_id", copyOf)
	}
	waits := "EXISTS (SELECT 1 FROM limit_items l WHERE l.account = p.account AND l.number = p.number)"
	later := fmt.Sprintf("%d + (s.k * 7919000 %% 1728000) * 1000000", f.now+24*time.Hour.Microseconds())
	due := func(column string) string {
		return "CASE WHEN p.state >= 4 THEN " + column + " - " + shift + " WHEN " + waits + " THEN " + column + " ELSE " + later + " END"
	}
	for _, c := range []string{
		"inserted_at", "attempted_at", "completed_at", "cancelled_at", "discarded_at", "held_until", "remembered_until",
	} {
		values[c] = "p." + c + " - " + shift
	}
	for _, c := range []string{"rerun_of", "follows", "parent"} {
		values[c] = number("p." + c)
	}
	maps.Copy(values, map[string]string{
		"account": of, "number": number("p.number"),
		"id":           f.db.id(f.timed("p.id", "p.inserted_at - "+shift, strings.ReplaceAll(ids, "j.", "p."))),
		"key":          "p.key || '-' || CASE WHEN p.schedule_id IS NULL THEN s.k ELSE " + copyOf + " END",
		"scheduled_at": due("p.scheduled_at"), "due_at": due("p.due_at"),
	})
	those := fmt.Sprintf("p.account = %s AND p.number < %d AND p.state <> 3 AND NOT (p.state < 3 AND p.schedule_id IS NOT NULL)",
		f.account, f.first+f.span)
	f.add("jobs", "", those, 1, k, values)
	f.add("job_tags", "job_tags p"+ofJob, strings.ReplaceAll(those, "p.", "j."), 1, k,
		map[string]string{"account": of, "number": number("p.number")})
	f.add("logs", "logs p JOIN jobs j ON j.account = p.account AND j.number = p.job", strings.ReplaceAll(those, "p.", "j."), 1, k,
		map[string]string{"account": of, "job": number("p.job"), "inserted_at": "p.inserted_at - " + shift,
			"id": f.db.id(f.timed("p.id", "p.inserted_at - "+shift, ids))})
	joined := strings.ReplaceAll(those, "p.", "j.") + " AND p.node = 0 AND p.kind = 0"
	f.add("runs", "runs p"+ofJob, joined, 1, k,
		map[string]string{"account": of, "number": number("p.number"), "due": "CASE WHEN " +
			strings.ReplaceAll(waits, "p.", "j.") + " THEN p.due ELSE " + later + " END"})
	f.add("limit_items", "limit_items p"+ofJob, strings.ReplaceAll(those, "p.", "j."), 1, k,
		map[string]string{"account": of, "number": number("p.number")})
	if account == "" {
		return
	}
	last := f.number("SELECT coalesce(max(number), 0) FROM deliveries") + 1
	f.add("deliveries", "", "p.account = "+f.account+" AND p.due IS NULL", max(1, k-alerting), k,
		map[string]string{"number": fmt.Sprintf("(%d + s.k * 1000 + p.number)", last), "job": number("p.job"),
			"message": "p.message || s.k", "begin_at": "p.begin_at - " + shift})
	f.add("alert_states", "", "p.account = "+f.account+" AND p.job > 0", 1, schedules, map[string]string{
		"schedule": f.db.id(f.changed("p.schedule", "s.k")), "job": number("p.job"), "wake_at": "NULL"})
}

// pendingRuns gives each schedule its pending run.
func (f *filling) pendingRuns(schedules int) {
	base := f.done - f.first + 1
	f.done += int64(schedules) * f.span
	number := fmt.Sprintf("(%d + (s.k - 1) * %d + p.number)", base, f.span)
	those := fmt.Sprintf("p.account = %s AND p.number < %d AND p.state < 3 AND p.schedule_id IS NOT NULL", f.account, f.first+f.span)
	later := " + s.k * 60000000"
	f.add("jobs", "", those, 1, schedules, map[string]string{
		"number": number, "id": f.db.id(f.timed("p.id", fmt.Sprint(f.now), "s.k * 1000 + p.number % 1000")),
		"schedule_id": f.scheduled("p.schedule_id", "s.k"),
		"inserted_at": fmt.Sprint(f.now), "key": "p.key || '-' || s.k", "due_at": "p.due_at" + later,
		"scheduled_at": "p.scheduled_at" + later,
	})
	f.add("runs", "runs p"+ofJob, strings.ReplaceAll(those, "p.", "j."), 1, schedules,
		map[string]string{"number": number, "due": "p.due" + later})
}

// rest copies what is neither a job nor a schedule.
func (f *filling) rest(k int) {
	where := "p.account = " + f.account
	part := max(1, min(k, 100_000))
	f.add("audits", "", where+" AND p.class = 0", 1, min(audited, part), map[string]string{
		"seq": "p.seq + s.k * 1000", "slot": "p.slot || s.k",
		"id":          f.db.id(f.timed("p.id", "p.inserted_at - s.k * 60000000", "s.k")),
		"inserted_at": "p.inserted_at - s.k * 60000000"})
	f.add("stats", "", where+" AND p.minute = (SELECT max(minute) FROM stats WHERE account = p.account)", 1, minutes,
		map[string]string{"minute": "p.minute - s.k"})
	f.add("workflow_runs", "", where, 1, min(runs, part), map[string]string{
		"id": "p.id || '-' || s.k", "created_at": "p.created_at - s.k * 60000000", "state": "1 + s.k % 5",
		"wakes_at": "NULL", "untold": "0", "ended_at": "CASE WHEN s.k % 5 > 1 THEN p.created_at - s.k * 60000000 + 1000000 END"})
	f.add("workflow_steps", "", where, 1, min(runs, part), map[string]string{"run": "p.run || '-' || s.k"})
	f.add("operations", "", where+" AND p.state <> 0", 1, min(1000, part), map[string]string{
		"id": f.db.id(f.timed("p.id", "p.inserted_at - s.k * 60000000", "s.k")), "inserted_at": "p.inserted_at - s.k * 60000000"})
	f.add("limits", "", where, 1, min(900, part), map[string]string{"key": "p.key || '-' || s.k"})
	f.add("target_groups", "", where, 1, min(300, part), map[string]string{"name": "p.name || '-' || s.k"})
}

// deletePrototypes deletes what the service made: its numbers are lower than those of
// copies, although it is newer.
func (f *filling) deletePrototypes() {
	last := f.first + f.span
	for _, sql := range []string{
		"DELETE FROM runs WHERE account = %[1]s AND number < %[2]d AND kind = 0",
		"DELETE FROM limit_items WHERE account = %[1]s AND number < %[2]d",
		"DELETE FROM job_tags WHERE account = %[1]s AND number < %[2]d",
		"DELETE FROM logs WHERE account = %[1]s AND job < %[2]d AND job > 0",
		"DELETE FROM jobs WHERE account = %[1]s AND number < %[2]d",
		"DELETE FROM schedule_tags WHERE account = %[1]s AND id IN " +
			"(SELECT id FROM schedules WHERE account = %[1]s AND name NOT LIKE '%% copy %%')",
		"DELETE FROM alert_states WHERE account = %[1]s AND job < %[2]d",
		"DELETE FROM schedules WHERE account = %[1]s AND name NOT LIKE '%% copy %%'",
	} {
		f.ok(f.db.exec(fmt.Sprintf(sql, f.account, last)))
	}
	if _, postgres := f.db.(*postgresDatabase); postgres {
		f.ok(f.db.exec(fmt.Sprintf("SELECT setval('job_numbers', %d)", f.done+1)))
		f.ok(f.db.exec("SELECT setval('delivery_numbers', (SELECT coalesce(max(number), 0) + 1 FROM deliveries))"))
	}
}
