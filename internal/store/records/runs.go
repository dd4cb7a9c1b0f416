package records

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/store"
	"github.com/punctual-dev/punctual/internal/workflow"
)

// runState stores a state as a number.
type runState struct {
	to *workflow.State
	n  int64
}

func (f *runState) Target() any { return &f.n }
func (f *runState) Load()       { *f.to = workflow.State(f.n) }
func (f *runState) Stored() any { return int64(*f.to) }

var runs = Table[workflow.Run]{
	Name: "workflow_runs", Key: []string{"account", "id"},
	Columns: []Column[workflow.Run]{
		{"account", func(r *workflow.Run) any { return &r.Account }},
		{"id", func(r *workflow.Run) any { return &r.ID }},
		{"url", func(r *workflow.Run) any { return &r.URL }},
		{"state", func(r *workflow.Run) any { return &runState{to: &r.State} }},
		{"created_at", func(r *workflow.Run) any { return &r.CreatedAt }},
		{"ended_at", func(r *workflow.Run) any { return &r.EndedAt }},
		{"template", func(r *workflow.Run) any { return &r.Template }},
		{"labels", func(r *workflow.Run) any { return &r.Labels }},
		{"flow_control", func(r *workflow.Run) any { return &r.FlowControl }},
		{"caller_ip", func(r *workflow.Run) any { return &r.CallerIP }},
		{"lazy", func(r *workflow.Run) any { return &flag{to: &r.Lazy} }},
		{"step_rows", func(r *workflow.Run) any { return &r.Rows }},
		{"step_bytes", func(r *workflow.Run) any { return &r.Bytes }},
		{"floor", func(r *workflow.Run) any { return &r.Floor }},
		{"open", func(r *workflow.Run) any { return &r.Open }},
		{"waits", func(r *workflow.Run) any { return &r.Waits }},
		{"wakes_at", func(r *workflow.Run) any { return &r.WakesAt }},
		{"result", func(r *workflow.Run) any { return &r.Result }},
		{"error", func(r *workflow.Run) any { return &r.Error }},
		{"failed_job", func(r *workflow.Run) any { return &orNone{&r.FailedJob} }},
		{"failure", func(r *workflow.Run) any { return &orNone{&r.Failure} }},
		{"invoker", func(r *workflow.Run) any { return &r.Invoker }},
		{"untold", func(r *workflow.Run) any { return &flag{to: &r.Unreported} }},
		{"archived", func(r *workflow.Run) any { return &flag{to: &r.Archived} }},
		{"origin", func(r *workflow.Run) any { return &r.Origin }},
	},
}

// listedRuns has the columns that lists read.
var listedRuns = without(runs, "result", "template")

type stepKind struct {
	to *workflow.Kind
	n  int64
}

func (f *stepKind) Target() any { return &f.n }
func (f *stepKind) Load()       { *f.to = workflow.Kind(f.n) }
func (f *stepKind) Stored() any { return int64(*f.to) }

var steps = Table[workflow.Step]{
	Name: "workflow_steps", Key: []string{"account", "run", "position"},
	Columns: []Column[workflow.Step]{
		{"account", func(s *workflow.Step) any { return &s.Account }},
		{"run", func(s *workflow.Step) any { return &s.Run }},
		{"position", func(s *workflow.Step) any { return &s.Position }},
		{"kind", func(s *workflow.Step) any { return &stepKind{to: &s.Kind} }},
		{"number", func(s *workflow.Step) any { return &s.Number }},
		{"concurrent", func(s *workflow.Step) any { return &s.Concurrent }},
		{"name", func(s *workflow.Step) any { return &s.Name }},
		{"type", func(s *workflow.Step) any { return &s.Type }},
		{"message", func(s *workflow.Step) any { return &orNone{&s.Message} }},
		{"body", func(s *workflow.Step) any { return &s.Body }},
		{"created_at", func(s *workflow.Step) any { return &s.CreatedAt }},
		{"due_at", func(s *workflow.Step) any { return &s.DueAt }},
		{"settled", func(s *workflow.Step) any { return &flag{to: &s.Settled} }},
		{"waits_for", func(s *workflow.Step) any { return &orNull{&s.WaitsFor} }},
	},
}

var stepHeads = without(steps, "body")

// without returns a table that reads fewer columns.
func without[T any](t Table[T], names ...string) *Table[T] {
	t.Columns = slices.DeleteFunc(slices.Clone(t.Columns), func(c Column[T]) bool { return slices.Contains(names, c.Name) })
	return &t
}

// ReadRuns reads and locks what a change of runs needs.
func ReadRuns(t Tx, w *store.RunWrite) (*store.RunSnapshot, error) {
	m := &store.RunSnapshot{Runs: map[string]*workflow.Run{}, Steps: map[workflow.Key]*workflow.Step{}}
	var found []*workflow.Run
	queries := []Query{runs.Select(&found, nil, `WHERE account = $1 AND id = ANY($2) ORDER BY id FOR UPDATE`, w.Account, w.Runs)}
	if w.Creates {
		queries = append(queries, Query{
			SQL: `SELECT count(*) FROM (SELECT 1 FROM workflow_runs INDEXED BY workflow_runs_live
				WHERE account = $1 AND ended_at IS NULL LIMIT $2) l`,
			Args: []any{w.Account, workflow.MaxLive}, Row: into(&m.Live),
		})
	}
	if err := t.Run(queries...); err != nil {
		return nil, err
	}
	for _, r := range found {
		m.Runs[r.ID] = r
	}
	// The records are read once their runs are locked.
	var known []*workflow.Step
	if err := t.Run(stepsKeyed(&known, w.Account, w.Keys)...); err != nil {
		return nil, err
	}
	for _, s := range known {
		m.Steps[s.Key()] = s
	}
	if len(w.Events) > 0 {
		if err := readWaiting(t, w, m); err != nil {
			return nil, err
		}
	}
	m.Now = t.Now()
	return m, nil
}

// maxWaiting is how many records are read that wait for events: some, of which the first
// counts. maxKept is how many are read that keep them: enough to see that no more are kept.
const (
	maxWaiting = 10
	maxKept    = workflow.MaxKept + 1
)

// readWaiting reads the records that wait for the events of a change, or keep them. What is
// kept may have megabytes: bodies of it are read only if they are taken.
func readWaiting(t Tx, w *store.RunWrite, m *store.RunSnapshot) error {
	const where = `WHERE account = $1 AND waits_for = ANY($2) AND run = ANY($3) AND kind = $4 AND settled = 0 ORDER BY position LIMIT $5`
	table, most := stepHeads, maxKept
	if w.TakesKept {
		table, most = &steps, 1
	}
	var kept []*workflow.Step
	err := t.Run(
		steps.Select(&m.Waiting, nil, where, w.Account, w.Events, w.Runs, int64(workflow.Wait), maxWaiting),
		table.Select(&kept, nil, where, w.Account, w.Events, w.Runs, int64(workflow.Notice), most))
	m.Waiting = append(m.Waiting, kept...)
	return err
}

// stepsKeyed returns the queries that read the records with some keys.
func stepsKeyed(into *[]*workflow.Step, account int64, keys []workflow.Key) []Query {
	type group struct {
		run  string
		kind workflow.Kind
	}
	numbers := map[group][]int64{}
	for _, k := range keys {
		g := group{k.Run, k.Kind}
		numbers[g] = append(numbers[g], int64(k.Number))
	}
	var queries []Query
	for g, list := range numbers {
		var some []*workflow.Step
		q := stepHeads.Select(&some, nil, `WHERE account = $1 AND run = $2 AND kind = $3 AND number = ANY($4)`,
			account, g.run, int64(g.kind), list)
		read := q.Row
		q.Row = func(row Row) error {
			err := read(row)
			*into = append(*into, some[len(some)-1])
			return err
		}
		queries = append(queries, q)
	}
	if len(queries) > 0 {
		first := queries[0].Start
		queries[0].Start = func() {
			*into = nil
			first()
		}
	}
	return queries
}

// StoreRuns returns the queries that store changes of runs.
func StoreRuns(account int64, c *store.RunChanges) []Query {
	var queries []Query
	for _, r := range c.New {
		q := runs.Insert(r)
		q.Taken = fault.New(fault.Conflict, "the workflow run "+r.ID+" is being started by another call")
		queries = append(queries, q)
	}
	slices.SortFunc(c.Changed, func(a, b *workflow.Run) int { return cmp.Compare(a.ID, b.ID) })
	for _, r := range c.Changed {
		queries = append(queries, Query{
			SQL: `UPDATE workflow_runs SET state = $3, ended_at = $4, step_rows = $5, step_bytes = $6, floor = $7, open = $8,
				waits = $9, wakes_at = $10, result = $11, untold = $12, archived = $13, failure = $14 WHERE account = $1 AND id = $2`,
			Args: []any{
				account, r.ID, int64(r.State), r.EndedAt, r.Rows, r.Bytes, r.Floor, r.Open, r.Waits, r.WakesAt,
				r.Result, asNumber(r.Unreported), asNumber(r.Archived), orNull16(r.Failure),
			},
		})
	}
	for _, s := range c.Steps {
		queries = append(queries, steps.Insert(s))
	}
	for _, k := range c.Settled {
		queries = append(queries, Query{
			SQL:  `UPDATE workflow_steps SET settled = 1 WHERE account = $1 AND run = $2 AND kind = $3 AND number = $4`,
			Args: []any{account, k.Run, int64(k.Kind), k.Number},
		})
	}
	return queries
}

// EndRuns returns the queries that note the ends of jobs with their runs. These are locked
// in order.
func EndRuns(ends []store.RunEnd) []Query {
	slices.SortStableFunc(ends, func(a, b store.RunEnd) int {
		return cmp.Or(cmp.Compare(a.Account, b.Account), cmp.Compare(a.Run, b.Run))
	})
	const (
		live   = `ended_at IS NULL`
		ofCall = ` account = $1 AND run = $2 AND kind = 3 AND number = $10::bigint AND settled = 0` // workflow.Call
		closed = `($3::bigint + CASE WHEN EXISTS (SELECT 1 FROM workflow_steps WHERE` + ofCall + `) THEN 1 ELSE 0 END)`
		hung   = `open <= ` + closed
		over   = live + ` AND ($4::bigint > 0 OR ` + hung + `)`
	)
	var queries []Query
	for _, e := range ends {
		queries = append(queries, Query{
			SQL: `UPDATE workflow_runs SET open = open - ` + closed + `,
				state = CASE WHEN ` + live + ` AND $4::bigint > 0 THEN $4::bigint WHEN ` + over + ` THEN $5::bigint ELSE state END,
				error = CASE WHEN ` + live + ` AND $4::bigint = 0 AND ` + hung + ` THEN $6 ELSE error END,
				failed_job = CASE WHEN ` + over + ` THEN $7::uuid ELSE failed_job END,
				failure = CASE WHEN ` + live + ` AND $4::bigint > 0 THEN $8::uuid ELSE failure END,
				untold = CASE WHEN ` + over + ` AND invoker IS NOT NULL THEN 1 ELSE untold END,
				ended_at = CASE WHEN ` + over + ` THEN $9::bigint ELSE ended_at END
				WHERE account = $1 AND id = $2`,
			Args: []any{
				e.Account, e.Run, asNumber(e.Counted), int64(e.State), int64(workflow.Failed), workflow.Stuck, e.Job,
				orNull16(e.Failure), e.At, int64(e.Call),
			},
		})
		if e.Call > 0 {
			queries = append(queries, Query{
				SQL:  `UPDATE workflow_steps SET settled = 1 WHERE account = $1 AND run = $2 AND kind = $3 AND number = $4`,
				Args: []any{e.Account, e.Run, int64(workflow.Call), e.Call},
			})
		}
		if o := e.Outcome; o != nil {
			queries = append(queries, Query{
				SQL: `INSERT INTO alert_outcomes (account, job, schedule, kind, at, tags, detail)
					SELECT account, $3::bigint, $4::uuid, CASE state WHEN $5 THEN 1 ELSE 2 END, $6::bigint, $7::text,
						CASE state WHEN $5 THEN $8::text ELSE $9::text END
					FROM workflow_runs WHERE account = $1 AND id = $2 AND (state = $5 OR state = $10 AND failed_job = $11)`,
				Args: []any{
					e.Account, e.Run, o.Job, o.Schedule, int64(workflow.Succeeded), o.At, o.Tags, o.Detail, o.Failed,
					int64(workflow.Failed), e.Job,
				},
			})
		}
	}
	return queries
}

func orNull16(id uuid.UUID) any { return unless(id == uuid.Nil, id) }

// RunGet implements store.Runs.
func (r *Records) RunGet(ctx context.Context, account int64, id string) (*workflow.Run, error) {
	found, err := read(ctx, r, Single, &runs, `WHERE account = $1 AND id = $2`, account, id)
	if err == nil && len(found) == 0 {
		err = workflow.NoRun(id)
	}
	if err != nil {
		return nil, err
	}
	return found[0], nil
}

// RunSteps implements store.Runs.
func (r *Records) RunSteps(ctx context.Context, account int64, id string, from, limit int, bytes int64) ([]*workflow.Step, error) {
	if bytes == workflow.NoBodies {
		return read(ctx, r, Pages, stepHeads, `WHERE account = $1 AND run = $2 AND position >= $3 ORDER BY position LIMIT $4`,
			account, id, from, limit)
	}
	var found []*workflow.Step
	q := Query{
		SQL: `SELECT ` + steps.names() + ` FROM (
				SELECT *, sum(coalesce(octet_length(body), 0)) OVER (ORDER BY position) AS total FROM (
					SELECT * FROM workflow_steps WHERE account = $1 AND run = $2 AND position >= $3 ORDER BY position LIMIT $4) p) s
			WHERE position = $3 OR total <= $5 ORDER BY position`,
		Args: []any{account, id, from, limit, bytes}, Start: func() { found = nil },
		Row: func(row Row) error {
			s := &workflow.Step{}
			found = append(found, s)
			return scan(row, steps.values(s)...)
		},
	}
	err := r.engine.Read(ctx, Pages, q)
	return found, err
}

// RunMessage implements store.Runs.
func (r *Records) RunMessage(ctx context.Context, account int64, of workflow.Key, bytes int64) (*store.RunMessage, error) {
	m := &store.RunMessage{}
	var found []*workflow.Run
	var known []*workflow.Step
	queries := []Query{
		runs.Select(&found, nil, `WHERE account = $1 AND id = $2`, account, of.Run),
		steps.Select(&m.Steps, nil, `WHERE account = $1 AND run = $2 AND kind <= $3
			AND position <= (SELECT position FROM workflow_steps WHERE account = $1 AND run = $2 AND kind = $4 AND number = $5)
			AND EXISTS (SELECT 1 FROM workflow_runs WHERE account = $1 AND id = $2 AND step_bytes <= $6) ORDER BY position`,
			account, of.Run, int64(workflow.Result), int64(of.Kind), of.Number, bytes),
	}
	queries = append(queries, stepsKeyed(&known, account, []workflow.Key{of, {Run: of.Run, Kind: workflow.Result, Number: of.Number}})...)
	if err := r.engine.Read(ctx, Queue, queries...); err != nil {
		return nil, err
	}
	if len(found) > 0 {
		m.Run = found[0]
	}
	for _, s := range known {
		if s.Kind == of.Kind {
			m.Of = s
		}
		if s.Kind == workflow.Result {
			m.Result = s
		}
	}
	return m, nil
}

// RunPage implements store.Runs.
func (r *Records) RunPage(ctx context.Context, account int64, before time.Time, id string, limit int) ([]*workflow.Run, error) {
	if before.IsZero() {
		return read(ctx, r, Pages, listedRuns, `WHERE account = $1 ORDER BY created_at DESC, id DESC LIMIT $2`, account, limit)
	}
	return read(ctx, r, Pages, listedRuns, `WHERE account = $1 AND (created_at, id) < ($2, $3) ORDER BY created_at DESC, id DESC LIMIT $4`,
		account, before, id, limit)
}

// RunJobs implements store.Runs.
func (r *Records) RunJobs(ctx context.Context, account int64, id string, after, limit int) (jobs []uuid.UUID, positions []int, err error) {
	err = r.engine.Read(ctx, Pages, Query{
		SQL: `SELECT message, position FROM workflow_steps WHERE account = $1 AND run = $2 AND position > $3
			AND position >= (SELECT floor FROM workflow_runs WHERE account = $1 AND id = $2) AND message IS NOT NULL ORDER BY position LIMIT $4`,
		Args: []any{account, id, after, limit}, Start: func() { jobs, positions = nil, nil },
		Row: func(row Row) error {
			var message uuid.UUID
			var position int
			err := row.Scan(&message, &position)
			jobs, positions = append(jobs, message), append(positions, position)
			return err
		},
	})
	return jobs, positions, err
}

// RunWaiting implements store.Runs.
func (r *Records) RunWaiting(ctx context.Context, account int64, event, run string, after, limit int) ([]*workflow.Step, error) {
	return read(ctx, r, Pages, &steps,
		`WHERE account = $1 AND waits_for = $2 AND settled = 0 AND kind <> $6 AND (run, position) > ($3, $4) ORDER BY run, position LIMIT $5`,
		account, event, run, after, limit, int64(workflow.Result))
}

// RunHooks implements store.Runs.
func (r *Records) RunHooks(ctx context.Context, account int64, event string, limit int) ([]*workflow.Step, error) {
	return read(ctx, r, Single, stepHeads,
		`WHERE account = $1 AND waits_for = $2 AND settled = 0 AND kind = $3 ORDER BY created_at DESC, run LIMIT $4`,
		account, event, int64(workflow.Result), limit)
}

// RunsUnreported implements store.Runs.
func (r *Records) RunsUnreported(ctx context.Context, account int64, id string, limit int) ([]*workflow.Run, error) {
	return read(ctx, r, Queue, listedRuns, `WHERE untold = 1 AND (account, id) > ($1, $2) ORDER BY account, id LIMIT $3`, account, id,
		limit)
}

// stepsAtOnce is how many steps of a run are deleted at once.
const stepsAtOnce = 1000

// RunPrune implements store.Runs.
func (r *Records) RunPrune(ctx context.Context, before time.Time, limit int) (removed int, more bool, err error) {
	var old []*workflow.Run
	err = r.engine.Read(ctx, Background, listedRuns.Select(&old, nil,
		`WHERE ended_at < $1 AND untold = 0 ORDER BY ended_at LIMIT $2`, before, limit))
	if err != nil {
		return 0, false, err
	}
	for _, one := range old {
		n := 0
		err := r.engine.Write(ctx, func(t Tx) ([]Query, error) {
			err := t.Run(Query{
				SQL:  r.engine.Dialect().DeleteSome("workflow_steps", steps.Key, `WHERE account = $1 AND run = $2 LIMIT $3`),
				Args: []any{one.Account, one.ID, stepsAtOnce}, Changed: &n,
			})
			if err != nil || n == stepsAtOnce {
				return nil, err
			}
			return []Query{{SQL: `DELETE FROM workflow_runs WHERE account = $1 AND id = $2`, Args: []any{one.Account, one.ID}}}, nil
		})
		if err != nil {
			return removed, true, err
		}
		if n < stepsAtOnce {
			removed++
		}
	}
	return removed, len(old) > 0, nil
}

// RunCopy implements store.Runs.
func (r *Records) RunCopy(ctx context.Context, run *workflow.Run, copied []*workflow.Step) error {
	queries := copies(&steps, copied)
	if run != nil {
		queries = append(queries, runs.InsertNew(run))
	}
	return r.write(ctx, queries...)
}
