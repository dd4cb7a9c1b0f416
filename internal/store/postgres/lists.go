package postgres

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/punctual-dev/punctual/internal/job"
)

// condition collects the filters of a list. A ? in a term stands for the next
// argument.
type condition struct {
	terms []string
	args  []any
}

func (c *condition) add(term string, args ...any) {
	c.terms = append(c.terms, c.numbered(term, args...))
}

// numbered adds arguments and returns the text with their numbers.
func (c *condition) numbered(text string, args ...any) string {
	for _, arg := range args {
		c.args = append(c.args, arg)
		text = strings.Replace(text, `?`, `$`+strconv.Itoa(len(c.args)), 1)
	}
	return text
}

func (c *condition) String() string { return strings.Join(c.terms, ` AND `) }

// owned returns a table n of what inner selects and the owner's account, to be joined
// by an index of both; see listOf.
func (c *condition) owned(owner job.Owner, inner string) string {
	return c.numbered(`(SELECT ?::bigint AS account, o.*`, owner.Number) + ` FROM (` + inner + `) o OFFSET 0) n`
}

// tagged returns a table g of the account and the keys of the records with a tag, in
// descending order, those below after if some: it is read in this order, and each key
// is looked up.
func (c *condition) tagged(owner job.Owner, table, key, tag string, some bool, after any) string {
	sql := c.numbered(`(SELECT t.account, t.`+key+` FROM `+table+` t WHERE t.account = (SELECT ?::bigint) AND t.tag = ?`, owner.Number,
		text(tag))
	if some {
		sql += c.numbered(` AND t.`+key+` < ?`, after)
	}
	return sql + ` ORDER BY t.` + key + ` DESC OFFSET 0) g`
}

// page returns the LIMIT clause.
func (c *condition) page(q job.ListQuery) string {
	return c.numbered(` LIMIT ? OFFSET ?`, q.Limit, q.Offset)
}

// orderBy returns the ORDER BY clause for an expression: nulls last, then ties.
func orderBy(expression string, desc bool, ties string) string {
	direction := ` ASC`
	if desc {
		direction = ` DESC`
	}
	return ` ORDER BY ` + expression + direction + ` NULLS LAST, ` + ties
}

// byName returns an expression that sorts a column of numbers by their names, of
// which empty ones are unused.
func byName(column string, names []string) string {
	b := `CASE ` + column
	for number, name := range names {
		if name != "" {
			b += ` WHEN ` + strconv.Itoa(number) + ` THEN '` + name + `'`
		}
	}
	return b + ` END`
}

// executes is the condition that a job, joined with its queue item, is executing.
// Its argument is the current time.
const executes = `coalesce(r.node > 0 AND r.begin_at <= ?, false)`

// bounded returns the FROM clause of a page: the rows of a table whose keys inner
// selects, in its order, up to and including the first that exceeds a budget of
// bytes. It knows the sizes without reading large values, and sorts keys, never
// whole rows. ORDER BY n.place must follow the clause.
func (c *condition) bounded(owner job.Owner, inner, table, key, size string, budget int) string {
	on := ` ON %[1]s.account = n.account AND %[1]s.` + key + ` = n.` + key
	return c.numbered(` FROM (SELECT b.account, b.`+key+`, b.place FROM (SELECT n.account, n.`+key+`, n.place, sum(`+size+
		`) OVER (ORDER BY n.place) - (`+size+`) AS before
		FROM (SELECT ?::bigint AS account, o.`+key+`, row_number() OVER () AS place`, owner.Number) + ` FROM (` + inner +
		`) o OFFSET 0) n JOIN ` + table + ` t` + fmt.Sprintf(on, `t`) +
		c.numbered(`) b WHERE b.before <= ? OFFSET 0) n JOIN `, budget) + table + ` ` + table[:1] + fmt.Sprintf(on, table[:1])
}

// boundedJobs returns the query for the jobs whose numbers inner selects, within
// a budget of bytes.
func (s *Store) boundedJobs(c *condition, owner job.Owner, inner string, budget int, jobs *[]*job.Job) query {
	sql := `SELECT ` + jobColumns + `, ` + runColumns + c.bounded(owner, inner, `jobs`, `number`, `coalesce(t.size, octet_length(t.args))`,
		budget) + joinItem + ` ORDER BY n.place`
	return s.jobsOf(owner, sql, c.args, jobs)
}

// JobList implements store.Jobs.
func (s *Store) JobList(ctx context.Context, owner job.Owner, q job.Query) ([]*job.Job, error) {
	var jobs []*job.Job
	c := &condition{}
	var inner string
	switch q.Path() {
	case job.ByNumber, job.ByState:
		inner = s.indexedNumbers(c, owner, q)
	default:
		inner = s.filteredNumbers(c, owner, q)
	}
	err := s.readAs(ctx, classOf(q.Heavy()), s.boundedJobs(c, owner, inner, q.Budget(), &jobs))
	return jobs, err
}

// shownStates are the states in the order of their names, storedStates those in
// the table.
var (
	shownStates  = []job.State{job.Available, job.Cancelled, job.Completed, job.Discarded, job.Executing, job.Retryable}
	storedStates = []job.State{job.Available, job.Cancelled, job.Completed, job.Discarded, job.Retryable}
)

// indexedNumbers returns the query for the numbers of the newest jobs or, if q
// orders by number or by state, of the first jobs in that order. It scans the
// index of jobs by account and state, one branch per state, and merges the
// branches: the last page is as fast as the first.
func (s *Store) indexedNumbers(c *condition, owner job.Owner, q job.Query) string {
	byState := q.Order.Field == "state"
	states := q.States
	switch {
	case len(states) == 0 && byState:
		states = shownStates
	case len(states) == 0:
		states = storedStates
	}
	const ascending = ` ORDER BY number ASC`
	order := ` ORDER BY number DESC`
	if q.Order.Field == "job_id" && !q.Order.Desc {
		order = ascending
	}
	b := stateBranch{shown: len(q.States) > 0 || byState, now: s.Now().UnixMicro(), ascending: order == ascending}
	var branches []string
	for _, state := range states {
		b.state, b.rank, b.last = state, strconv.Itoa(slices.Index(shownStates, state)), c.upTo(q.After)
		branch := inState(c, owner, b)
		branches = append(branches, `(`+branch+c.numbered(` LIMIT ?`, q.Offset+q.Limit)+`)`)
	}
	if byState {
		order = orderBy(`rank`, q.Order.Desc, `number DESC`)
	}
	return `SELECT number FROM (` + strings.Join(branches, ` UNION ALL `) + `) b` + order + c.page(q.ListQuery)
}

// stateBranch is the part of a list of jobs that are in a state.
type stateBranch struct {
	state     job.State
	rank      string // a second column
	shown     bool   // without the executing ones among the pending ones
	now       int64  // the same for all branches: a job is in one of them
	last      string // the highest number
	ascending bool   // in place of descending
}

// inState selects the numbers of an owner's jobs in a state.
func inState(c *condition, owner job.Owner, b stateBranch) string {
	sql := `SELECT j.number, ` + b.rank + ` AS rank FROM `
	if b.state == job.Executing {
		direction := ` DESC`
		if b.ascending {
			direction = ` ASC`
		}
		return sql + c.numbered(`runs j WHERE j.account = (SELECT ?::bigint) AND j.node > 0 AND j.kind = 0 AND j.begin_at <= ? AND j.number <= `, owner.Number, b.now) + b.last +
			` ORDER BY j.number` + direction
	}
	where, order := c.having(owner, `state`, c.numbered(`?::smallint`, int16(b.state)), b.last)
	if b.ascending {
		order = strings.ReplaceAll(order, ` DESC`, ` ASC`)
	}
	branch := sql + `jobs j WHERE ` + where
	if b.shown && !b.state.Final() {
		branch += c.numbered(` AND NOT EXISTS (SELECT FROM runs r WHERE r.account = (SELECT ?::bigint) AND r.node > 0 AND r.kind = 0 AND r.number = j.number AND r.begin_at <= ? OFFSET 0)`, owner.Number, b.now)
	}
	return branch + order
}

// value returns the value of a term as an argument.
func (c *condition) value(t job.Term) string {
	switch v := t.Value.(type) {
	case uuid.UUID:
		return c.numbered(`?::uuid`, v)
	case int64:
		return c.numbered(`?::bigint`, v)
	default:
		return c.numbered(`?::text`, text(t.Value.(string)))
	}
}

// upTo returns the highest number of the jobs that come after a job.
func (c *condition) upTo(after int64) string {
	if after == 0 {
		after = math.MaxInt64
	}
	return c.numbered(`?::bigint`, after-1)
}

// having returns the conditions for the owner's jobs that have a value in a column,
// with numbers up to last, and their order, the newest first. The conditions and the
// order are those of an index of the account, the column and the number: a simple
// comparison would let the planner read all jobs of the account in the order of
// their numbers instead, if it takes the value for frequent.
func (c *condition) having(owner job.Owner, column, value, last string) (where, order string) {
	where = c.numbered(`j.account = (SELECT ?::bigint)`, owner.Number) +
		fmt.Sprintf(` AND (j.%[1]s, j.number) <= (%[2]s, %[3]s) AND j.%[1]s >= %[2]s`, column, value, last)
	return where, ` ORDER BY j.` + column + ` DESC, j.number DESC`
}

var jobOrder = map[string]string{
	"inserted_at": `j.inserted_at`, "scheduled_at": `j.scheduled_at`, "completed_at": `j.completed_at`,
	"cancelled_at": `j.cancelled_at`, "discarded_at": `j.discarded_at`, "job_id": `j.number`, "id": `j.id`,
	"attempted_at": `CASE WHEN ` + executes + ` THEN r.begin_at ELSE j.attempted_at END`,
	"state": `(CASE WHEN ` + executes + ` THEN 'executing' ELSE ` + byName(`j.state`, []string{
		job.Available: "available", job.Retryable: "retryable", job.Completed: "completed",
		job.Cancelled: "cancelled", job.Discarded: "discarded",
	}) + ` END) COLLATE "C"`,
}

// filteredNumbers handles all other lists: it sorts the jobs that match.
func (s *Store) filteredNumbers(c *condition, owner job.Owner, q job.Query) string {
	return s.filtered(c, owner, q, `j.number`)
}

// filtered selects columns of the jobs that match, in order.
func (s *Store) filtered(c *condition, owner job.Owner, q job.Query, columns string) string {
	now := s.Now().UnixMicro()
	from, order := `jobs j`, ` ORDER BY j.number DESC`
	terms := q.Terms()
	if len(terms) == 0 {
		c.add(`j.account = (SELECT ?::bigint) AND j.number <= `+c.upTo(q.After), owner.Number)
	}
	for i, t := range terms {
		switch tag, column := t.Column == job.TagColumn, `j.`+t.Column; {
		case i == 0 && tag:
			from = c.tagged(owner, `job_tags`, `number`, t.Value.(string), q.After != 0, q.After) +
				` JOIN jobs j ON j.account = g.account AND j.number = g.number`
			order = ` ORDER BY g.number DESC`
			c.add(`true`)
		case i == 0:
			var where string
			where, order = c.having(owner, t.Column, c.value(t), c.upTo(q.After))
			c.terms = append(c.terms, where)
		case tag:
			c.add(`EXISTS (SELECT FROM job_tags t WHERE t.account = (SELECT ?::bigint) AND t.tag = ? AND t.number = j.number OFFSET 0)`,
				owner.Number, text(t.Value.(string)))
		default:
			c.terms = append(c.terms, column+` = `+c.value(t))
		}
	}
	if q.Timed() {
		c.terms[len(c.terms)-1] += within(c, q)
	}
	if len(q.States) > 0 {
		addStates(c, q.States, now)
	}
	join := ``
	if q.Order.Field != "" {
		expression := jobOrder[q.Order.Field]
		if strings.Contains(expression, `?`) {
			expression, join = c.numbered(expression, now), joinItem
		}
		order = orderBy(expression, q.Order.Desc, `j.number DESC`)
	}
	if len(q.States) > 0 {
		join = joinItem
	}
	return `SELECT ` + columns + ` FROM ` + from + join + ` WHERE ` + c.String() + order + c.page(q.ListQuery)
}

func addStates(c *condition, states []job.State, now int64) {
	var terms []string
	for _, state := range states {
		switch {
		case state == job.Executing:
			terms = append(terms, c.numbered(`(j.state <= 2 AND `+executes+`)`, now))
		case state.Final():
			terms = append(terms, c.numbered(`j.state = ?`, int16(state)))
		default:
			terms = append(terms, c.numbered(`(j.state = ? AND NOT `+executes+`)`, int16(state), now))
		}
	}
	c.terms = append(c.terms, `(`+strings.Join(terms, ` OR `)+`)`)
}

var scheduleOrder = map[string]string{"inserted_at": `s.inserted_at`, "disabled_at": `s.disabled_at`, "name": `s.name`, "id": `s.id`}

// ScheduleList implements store.Schedules.
func (s *Store) ScheduleList(ctx context.Context, owner job.Owner, q job.ScheduleQuery) ([]*job.Schedule, error) {
	c := &condition{}
	if len(q.Tags) == 0 {
		c.add(`s.account = (SELECT ?::bigint)`, owner.Number)
	} else {
		c.add(`true`) // the first tag selects the account
	}
	from, id := `schedules s`, `s.id`
	for i, tag := range q.Tags {
		if i == 0 {
			from, id = c.tagged(owner, `schedule_tags`, `id`, tag, q.AfterID != uuid.Nil, q.AfterID)+
				` JOIN schedules s ON s.account = g.account AND s.id = g.id`, `g.id`
			continue
		}
		c.add(`EXISTS (SELECT FROM schedule_tags t WHERE t.account = (SELECT ?::bigint) AND t.tag = ? AND t.id = s.id OFFSET 0)`,
			owner.Number, text(tag))
	}
	if q.AfterID != uuid.Nil {
		c.add(id+` < ?`, q.AfterID)
	}
	order := ` ORDER BY ` + id + ` DESC`
	if q.Order.Field != "" {
		order = orderBy(scheduleOrder[q.Order.Field], q.Order.Desc, `s.id DESC`)
	}
	var schedules []*job.Schedule
	inner := `SELECT ` + id + ` AS id FROM ` + from + ` WHERE ` + c.String() + order + c.page(q.ListQuery)
	const size = `octet_length(t.args) + coalesce(octet_length(t.state), 0) + coalesce(octet_length(t.previous), 0)`
	page := c.bounded(owner, inner, `schedules`, `id`, size, q.Budget())
	list := schedulesOf(owner, `SELECT `+scheduleColumns+page+` ORDER BY n.place`, c.args, func(found *job.Schedule) {
		schedules = append(schedules, found)
	})
	list.start = func() { schedules = nil }
	err := s.readAs(ctx, classOf(q.Heavy()), list)
	return schedules, err
}

var logOrder = map[string]string{
	"inserted_at": `l.inserted_at`, "job_id": `l.job`, "id": `l.id`,
	"event": `(` + byName(`l.event`, events) + `) COLLATE "C"`,
}

// LogList implements store.Logs. It excludes logs of attempts that have not
// started.
func (s *Store) LogList(ctx context.Context, owner job.Owner, q job.LogQuery) ([]*job.Log, error) {
	if q.Event != "" && eventNumber(q.Event) == 0 {
		return nil, nil // without reading all logs
	}
	c := &condition{}
	c.add(`l.account = (SELECT ?::bigint)`, owner.Number)
	c.add(`l.id < ?`, job.IDBound(s.Now().Add(1000)))
	switch {
	case q.Job == nil:
	case q.Job.Number != 0: // the job may have been deleted before its logs
		c.add(`l.job = ?`, q.Job.Number)
	default:
		c.add(`l.job = (SELECT j.number FROM jobs j WHERE j.account = (SELECT ?::bigint) AND j.id = ?)`, owner.Number, q.Job.UUID)
	}
	c.addLogs(q)
	order, behind := ` ORDER BY l.id DESC`, `l.id < ?`
	if q.Oldest {
		order, behind = ` ORDER BY l.id ASC`, `l.id > ?`
	}
	if q.AfterID != uuid.Nil {
		c.add(behind, q.AfterID)
	}
	if q.Order.Field != "" {
		order = orderBy(logOrder[q.Order.Field], q.Order.Desc, `l.id DESC`)
	}
	var logs []*job.Log
	inner := `SELECT l.id FROM logs l WHERE ` + c.String() + order + c.page(q.ListQuery)
	err := s.readAs(ctx, classOf(q.Heavy()), boundedLogs(c, owner, inner, q.Budget(), &logs))
	return logs, err
}

// boundedLogs returns the query for the logs whose IDs inner selects, within a
// budget of bytes.
func boundedLogs(c *condition, owner job.Owner, inner string, budget int, logs *[]*job.Log) query {
	from := c.bounded(owner, inner, `logs`, `id`, `coalesce(t.size, octet_length(t.payload))`, budget)
	return logsOf(owner, `SELECT `+logColumns+from+` ORDER BY n.place`, c.args, logs)
}

// addLogs filters by event and time.
func (c *condition) addLogs(q job.LogQuery) {
	if q.Event != "" {
		number := eventNumber(q.Event)
		c.add(`l.event = ?`, number)
		if number >= rareEvent {
			c.add(`l.event >= 3`) // so that the partial index can be used
		}
	}
	if !q.Since.IsZero() {
		c.add(`l.id >= ?`, job.IDBound(q.Since))
	}
	if !q.Until.IsZero() {
		c.add(`l.id < ?`, job.IDBound(q.Until))
	}
}

// LogWalk implements store.Logs. The query is written so that it looks up the
// logs run by run, whatever the planner estimates.
func (s *Store) LogWalk(ctx context.Context, owner job.Owner, schedule uuid.UUID, q job.LogQuery, look int) (*job.LogWalk, error) {
	direction, behind := ` DESC`, `<`
	if q.Oldest {
		direction, behind = ` ASC`, `>`
	}
	runs := func(c *condition) string {
		c.add(`j.account = (SELECT ?::bigint)`, owner.Number)
		c.add(`j.schedule_id = ?`, schedule)
		if q.After != 0 && q.AfterID == uuid.Nil {
			c.add(`j.number `+behind+` ?`, q.After)
		} else if q.After != 0 {
			c.add(`j.number `+behind+`= ?`, q.After)
		}
		return ` FROM jobs j WHERE ` + c.String() + ` ORDER BY j.number` + direction
	}
	walk := &job.LogWalk{}
	last := &condition{}
	lastSQL := `SELECT j.number, j.inserted_at` + runs(last) + last.numbered(` LIMIT 1 OFFSET ?`, look-1)
	outer := &condition{}
	outerSQL := `SELECT j.number` + runs(outer) + outer.numbered(` LIMIT ?`, look)
	c := &condition{args: outer.args}
	c.add(`l.account = (SELECT ?::bigint) AND l.job = n.number`, owner.Number)
	c.add(`l.id < ?`, job.IDBound(s.Now().Add(1000)))
	c.addLogs(q)
	if q.AfterID != uuid.Nil {
		c.add(`(n.number <> ? OR l.id `+behind+` ?)`, q.After, q.AfterID)
	}
	inner := `SELECT l.id FROM (` + outerSQL + `) n CROSS JOIN LATERAL (SELECT l.id FROM logs l WHERE ` + c.String() +
		` ORDER BY l.id` + direction + c.numbered(` LIMIT ?`, q.Limit) + `) l ORDER BY n.number` + direction + `, l.id` + direction +
		c.numbered(` LIMIT ?`, q.Limit)
	err := s.readAs(ctx, pages,
		query{
			sql: lastSQL, args: last.args, start: func() { walk.Next = nil },
			row: func(rows pgx.Rows) error {
				walk.Next = &job.LogPlace{}
				return rows.Scan(&walk.Next.Run, timeOf{&walk.Reached})
			},
		},
		boundedLogs(c, owner, inner, q.Budget(), &walk.Logs))
	walk.Stop(q.ListQuery)
	return walk, err
}
