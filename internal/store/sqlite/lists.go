package sqlite

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"
	"zombiezen.com/go/sqlite"

	"github.com/punctual-dev/punctual/internal/job"
)

// condition collects the filters of a list.
type condition struct {
	terms []string
	args  []any
}

func (c *condition) add(term string, args ...any) {
	c.terms = append(c.terms, term)
	c.args = append(c.args, args...)
}

func (c *condition) String() string { return strings.Join(c.terms, ` AND `) }

// eachRow reads rows one by one, by their numbers, until the sum of their sizes
// exceeds a budget. Scan returns the size of a row.
func eachRow(t *tx, query string, rows []int64, budget int, scan func(*sqlite.Stmt) (size int, err error)) error {
	size := 0
	for _, row := range rows {
		err := t.query(query, func(stmt *sqlite.Stmt) error {
			n, err := scan(stmt)
			size += n
			return err
		}, row)
		if err != nil || size > budget {
			return err
		}
	}
	return nil
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

// executes is the condition that a job, joined with its claimed queue item, is
// executing. Its argument is the current time.
const executes = `coalesce(r.begin_at <= ?, 0)`

// joinClaimed joins jobs with their claimed queue items, which are few.
const joinClaimed = ` LEFT JOIN runs r INDEXED BY runs_claimed ON r.account = j.account AND r.number = j.number AND r.node > 0 AND r.kind = 0 AND j.state <= 2 `

// JobList implements store.Jobs.
func (s *Store) JobList(ctx context.Context, owner job.Owner, q job.Query) ([]*job.Job, error) {
	var jobs []*job.Job
	err := s.readAs(ctx, classOf(q.Heavy()), func(t *tx) error {
		numbers, err := t.listNumbers(owner, q)
		if err == nil {
			jobs, err = t.jobsNumbered(numbers, q.Budget())
		}
		return err
	})
	return jobs, err
}

// listNumbers returns the numbers of the jobs of a page, in order. It sorts
// numbers, never whole records.
func (t *tx) listNumbers(owner job.Owner, q job.Query) ([]int64, error) {
	switch q.Path() {
	case job.ByNumber:
		query, args := t.newestNumbers(owner, q)
		return t.numbers(query, args...)
	case job.ByState:
		return t.numbersByState(owner, q)
	default:
		query, args := t.filteredNumbers(owner, q)
		if q.Combined() {
			return t.numbersOnce(query, args...) // there are too many combinations to keep their statements
		}
		return t.numbers(query, args...)
	}
}

func (t *tx) numbers(query string, args ...any) (numbers []int64, err error) {
	err = t.query(query, func(stmt *sqlite.Stmt) error {
		numbers = append(numbers, stmt.ColumnInt64(0))
		return nil
	}, args...)
	return numbers, err
}

// numbersOnce is numbers for a statement that is not kept for the next time.
func (t *tx) numbersOnce(query string, args ...any) (numbers []int64, err error) {
	stmt, _, err := t.conn.PrepareTransient(query)
	if err != nil {
		return nil, fmt.Errorf("preparing %.60q: %w", query, err)
	}
	defer func() { _ = stmt.Finalize() }() // returns the error of the last step again
	err = t.run(stmt, query, func(stmt *sqlite.Stmt) error {
		numbers = append(numbers, stmt.ColumnInt64(0))
		return nil
	}, args...)
	return numbers, err
}

var storedStates = []job.State{job.Available, job.Retryable, job.Completed, job.Cancelled, job.Discarded}

// newestNumbers returns the query for the numbers of the newest jobs or, if q
// orders by number, of the oldest. It scans the index of jobs by account and
// state, one branch per state, and merges the branches: the last page is as fast
// as the first.
func (t *tx) newestNumbers(owner job.Owner, q job.Query) (query string, args []any) {
	states := q.States
	if len(states) == 0 {
		states = storedStates
	}
	order := ` ORDER BY number DESC`
	if q.Order.Field != "" && !q.Order.Desc {
		order = ` ORDER BY number ASC`
	}
	var branches []string
	for _, state := range states {
		from, branch := t.inState(owner, state, len(q.States) > 0)
		if q.After != 0 {
			branch.add(`number < ?`, q.After)
		}
		branches = append(branches, `SELECT * FROM (SELECT number FROM `+from+` WHERE `+branch.String()+order+` LIMIT ?)`)
		args = append(append(args, branch.args...), q.Offset+q.Limit)
	}
	return strings.Join(branches, ` UNION ALL `) + order + ` LIMIT ? OFFSET ?`, append(args, q.Limit, q.Offset)
}

// inState selects an owner's jobs in a state. With shown, it excludes executing
// jobs from the pending ones.
func (t *tx) inState(owner job.Owner, state job.State, shown bool) (from string, c *condition) {
	c = &condition{}
	if state == job.Executing {
		c.add(`account = ? AND node > 0 AND kind = 0 AND begin_at <= ?`, owner.Number, t.now)
		return `runs INDEXED BY runs_claimed`, c
	}
	c.add(`account = ? AND state = ?`, owner.Number, state)
	if shown && !state.Final() {
		c.add(`number NOT IN (SELECT number FROM runs INDEXED BY runs_claimed WHERE account = ? AND node > 0 AND kind = 0 AND begin_at <= ?)`,
			owner.Number, t.now)
	}
	return `jobs INDEXED BY jobs_list`, c
}

// shownStates are the states in the order of their names.
var shownStates = []job.State{job.Available, job.Cancelled, job.Completed, job.Discarded, job.Executing, job.Retryable}

// numbersByState lists jobs by the names of their states without sorting, one
// indexed state after the other.
func (t *tx) numbersByState(owner job.Owner, q job.Query) (numbers []int64, err error) {
	states := slices.Clone(shownStates)
	if q.Order.Desc {
		slices.Reverse(states)
	}
	skip := q.Offset
	for _, state := range states {
		if len(q.States) > 0 && !slices.Contains(q.States, state) {
			continue
		}
		from, c := t.inState(owner, state, true)
		where := from + ` WHERE ` + c.String()
		found, err := t.numbers(`SELECT number FROM `+where+` ORDER BY number DESC LIMIT ? OFFSET ?`,
			append(slices.Clone(c.args), q.Limit-len(numbers), skip)...)
		if err != nil {
			return nil, err
		}
		numbers = append(numbers, found...)
		switch {
		case len(numbers) == q.Limit:
			return numbers, nil
		case len(found) > 0:
			skip = 0
		case skip > 0:
			counted, err := t.numbers(`SELECT count(*) FROM `+where, c.args...)
			if err != nil {
				return nil, err
			}
			skip -= int(counted[0])
		}
	}
	return numbers, nil
}

var jobOrder = map[string]string{
	"inserted_at": `j.inserted_at`, "scheduled_at": `j.scheduled_at`, "completed_at": `j.completed_at`,
	"cancelled_at": `j.cancelled_at`, "discarded_at": `j.discarded_at`, "job_id": `j.number`, "id": `j.id`,
	"attempted_at": `CASE WHEN ` + executes + ` THEN r.begin_at ELSE j.attempted_at END`,
	"state": `CASE WHEN ` + executes + ` THEN 'executing' ELSE ` + byName(`j.state`, []string{
		job.Available: "available", job.Retryable: "retryable", job.Completed: "completed",
		job.Cancelled: "cancelled", job.Discarded: "discarded",
	}) + ` END`,
}

// filteredNumbers returns the query for all other lists: it reads the jobs that
// the first filter selects from its index, and sorts them if they must be in
// another order.
func (t *tx) filteredNumbers(owner job.Owner, q job.Query) (query string, args []any) {
	c := &condition{}
	from, number := filterOf(c, owner, q)
	if len(q.States) > 0 {
		t.addStates(c, `j.state`, q.States)
	}
	if q.After != 0 {
		c.add(number+` < ?`, q.After)
	}
	order := ` ORDER BY ` + number + ` DESC`
	if q.Order.Field != "" {
		order = orderBy(strings.ReplaceAll(jobOrder[q.Order.Field], `j.number`, number), q.Order.Desc, number+` DESC`)
	}
	if strings.Contains(order, executes) {
		c.args = append(c.args, t.now)
	}
	if strings.Contains(c.String()+order, executes) {
		from += joinClaimed
	}
	return `SELECT ` + number + ` FROM ` + from + ` WHERE ` + c.String() + order + ` LIMIT ? OFFSET ?`, append(c.args, q.Limit, q.Offset)
}

// filterOf adds the filters of q, except the states, to c. It returns the FROM
// clause, which reads the index of one of them in order of the column number.
func filterOf(c *condition, owner job.Owner, q job.Query) (from, number string) {
	from, number = `jobs j INDEXED BY jobs_list`, `j.number`
	c.add(`j.account = ?`, owner.Number)
	for i, t := range q.Terms() {
		switch tag := t.Column == job.TagColumn; {
		case i == 0 && tag:
			from, number = `job_tags g CROSS JOIN jobs j ON j.number = g.number`, `g.number`
			c.add(`g.account = ? AND g.tag = ?`, owner.Number, t.Value)
		case tag:
			c.add(`EXISTS (SELECT 1 FROM job_tags t WHERE t.account = ? AND t.tag = ? AND t.number = j.number)`, owner.Number, t.Value)
		default:
			if i == 0 {
				from = `jobs j INDEXED BY jobs_` + t.Index
			}
			c.add(`j.`+t.Column+` = ?`, t.Value)
		}
	}
	if !q.Since.IsZero() {
		c.add(`j.inserted_at >= ?`, q.Since)
	}
	if !q.Until.IsZero() {
		c.add(`j.inserted_at < ?`, q.Until)
	}
	return from, number
}

func (t *tx) addStates(c *condition, column string, states []job.State) {
	var terms []string
	var args []any
	for _, state := range states {
		switch {
		case state == job.Executing:
			terms, args = append(terms, `(`+column+` <= 2 AND `+executes+`)`), append(args, t.now)
		case state.Final():
			terms, args = append(terms, column+` = ?`), append(args, state)
		default:
			terms, args = append(terms, `(`+column+` = ? AND NOT `+executes+`)`), append(args, state, t.now)
		}
	}
	c.add(`(`+strings.Join(terms, ` OR `)+`)`, args...)
}

var scheduleOrder = map[string]string{"inserted_at": `s.inserted_at`, "disabled_at": `s.disabled_at`, "name": `s.name`, "id": `s.id`}

// ScheduleList implements store.Schedules.
func (s *Store) ScheduleList(ctx context.Context, owner job.Owner, q job.ScheduleQuery) ([]*job.Schedule, error) {
	var schedules []*job.Schedule
	c := &condition{}
	from, id := `schedules s`, `s.id`
	for i, tag := range q.Tags {
		if i == 0 {
			from, id = `schedule_tags g CROSS JOIN schedules s ON s.id = g.id`, `g.id`
			c.add(`g.account = ? AND g.tag = ?`, owner.Number, tag)
			continue
		}
		c.add(`EXISTS (SELECT 1 FROM schedule_tags t WHERE t.account = ? AND t.tag = ? AND t.id = s.id)`, owner.Number, tag)
	}
	if len(q.Tags) == 0 {
		c.add(`s.account = ?`, owner.Number)
	}
	if q.AfterID != uuid.Nil {
		c.add(id+` < ?`, q.AfterID)
	}
	order := ` ORDER BY ` + id + ` DESC`
	if q.Order.Field != "" {
		order = orderBy(scheduleOrder[q.Order.Field], q.Order.Desc, `s.id DESC`)
	}
	err := s.readAs(ctx, classOf(q.Heavy()), func(t *tx) error {
		read := t.numbers
		if q.Heavy() {
			read = t.numbersOnce
		}
		rows, err := read(`SELECT s.rowid FROM `+from+` WHERE `+c.String()+order+` LIMIT ? OFFSET ?`, append(c.args, q.Limit, q.Offset)...)
		if err != nil {
			return err
		}
		return eachRow(t, `SELECT `+scheduleColumns+` FROM schedules s WHERE s.rowid = ?`, rows, q.Budget(),
			func(stmt *sqlite.Stmt) (int, error) {
				found, err := t.scanSchedule(stmt)
				if err != nil {
					return 0, err
				}
				schedules = append(schedules, found)
				return job.ScheduleSize(found), nil
			})
	})
	return schedules, err
}

var logOrder = map[string]string{
	"inserted_at": `l.inserted_at`, "job_id": `l.job`, "id": `l.id`,
	"event": byName(`l.event`, events),
}

// LogList implements store.Logs. It excludes logs of attempts that have not
// started.
func (s *Store) LogList(ctx context.Context, owner job.Owner, q job.LogQuery) ([]*job.Log, error) {
	if q.Event != "" && eventNumber(q.Event) == 0 {
		return nil, nil // without reading all logs
	}
	var logs []*job.Log
	err := s.readAs(ctx, classOf(q.Heavy()), func(t *tx) (err error) {
		c := &condition{}
		c.add(`l.account = ? AND l.id < ?`, owner.Number, job.IDBound(t.now.Add(1000)))
		if q.Job != nil {
			// The unary plus makes the planner use the index by job.
			where, arg := jobIs(*q.Job)
			c.terms[0] = `+l.account = ? AND l.id < ?`
			c.add(`l.job = (SELECT j.number FROM jobs j WHERE `+where+` AND j.account = ?)`, arg, owner.Number)
			if q.Job.Number != 0 { // the job may have been deleted before its logs
				c.terms[1] = `l.job = ?`
				c.args = append(c.args[:2], q.Job.Number)
			}
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
		rows, err := t.numbers(`SELECT l.seq FROM logs l WHERE `+c.String()+order+` LIMIT ? OFFSET ?`, append(c.args, q.Limit, q.Offset)...)
		if err == nil {
			logs, err = t.logsNumbered(rows, q.Budget())
		}
		return err
	})
	return logs, err
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

// LogWalk implements store.Logs. It reads runs and logs in the order of their
// indexes, so that nothing is sorted.
func (s *Store) LogWalk(ctx context.Context, owner job.Owner, schedule uuid.UUID, q job.LogQuery, look int) (*job.LogWalk, error) {
	direction, behind := ` DESC`, `<`
	if q.Oldest {
		direction, behind = ` ASC`, `>`
	}
	runs := &condition{}
	runs.add(`+j.account = ? AND j.schedule_id = ?`, owner.Number, schedule)
	if q.After != 0 && q.AfterID == uuid.Nil {
		runs.add(`j.number `+behind+` ?`, q.After)
	} else if q.After != 0 {
		runs.add(`j.number `+behind+`= ?`, q.After)
	}
	walk := &job.LogWalk{}
	err := s.readAs(ctx, pages, func(t *tx) error {
		err := t.query(`SELECT j.number, j.inserted_at FROM jobs j WHERE `+runs.String()+` ORDER BY j.number`+direction+` LIMIT 1 OFFSET ?`,
			func(stmt *sqlite.Stmt) error {
				c := &columns{stmt: stmt}
				walk.Next, walk.Reached = &job.LogPlace{Run: c.int64()}, c.time()
				return nil
			}, append(runs.args, look-1)...)
		if err != nil {
			return err
		}
		c := &condition{}
		c.add(runs.String(), runs.args...)
		if walk.Next != nil {
			c.add(`? `+behind+`= j.number`, walk.Next.Run)
		}
		c.add(`l.id < ?`, job.IDBound(t.now.Add(1000)))
		c.addLogs(q)
		if q.AfterID != uuid.Nil {
			c.add(`(j.number <> ? OR l.id `+behind+` ?)`, q.After, q.AfterID)
		}
		rows, err := t.numbers(`SELECT l.seq FROM jobs j CROSS JOIN logs l ON l.job = j.number WHERE `+
			c.String()+` ORDER BY j.number`+direction+`, l.id`+direction+` LIMIT ?`, append(c.args, q.Limit)...)
		if err == nil {
			walk.Logs, err = t.logsNumbered(rows, q.Budget())
		}
		return err
	})
	walk.Stop(q.ListQuery)
	return walk, err
}
