package service

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/dispatch"
	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/identity"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/lifecycle"
	"github.com/punctual-dev/punctual/internal/metrics"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/schedule"
	"github.com/punctual-dev/punctual/internal/store"
	"github.com/punctual-dev/punctual/internal/store/sqlite"
)

// otherEngine is the engine of a node that holds no claims.
type otherEngine struct{}

func (otherEngine) Revoke(int64, time.Time) dispatch.ClaimState { return dispatch.NotOwned }
func (otherEngine) Restore(int64)                               {}
func (otherEngine) Abort(int64)                                 {}
func (otherEngine) LimitsFreed(int64, []string)                 {}

// scheduleModel is a schedule as it must be after a sequence of calls.
type scheduleModel struct {
	*testing.T
	*Service
	r     *rand.Rand
	store *sqlite.Store
	now   time.Time
	owner job.Owner
	node  int64

	id       uuid.UUID
	exists   bool
	disabled bool
	name     string // of the schedule; "" for none
	body     int
	every    int
	revision int64
	// attempt was prepared for item, or is under way if claimed.
	attempt *lifecycle.Attempt
	claim   store.Claim
	claimed bool
	log     []string
}

const (
	modelKey = "k/ä"
	// ahead is how long before they are due attempts are prepared, and so how long
	// edits may come between. Nodes prepare them later.
	ahead = 500 * time.Millisecond
)

// TestSchedule_ModelOfEditsAndRuns makes random sequences of edits, puts, runs and
// fires, and compares the schedule with a model after each: no change is lost, there
// is one unfinished run, it is of the schedule as it is, and the history has no gaps.
func TestSchedule_ModelOfEditsAndRuns(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	if text := os.Getenv("PUNCTUAL_SEED"); text != "" {
		seed, _ = strconv.ParseUint(text, 10, 64)
	}
	t.Logf("PUNCTUAL_SEED=%d", seed)
	m := &scheduleModel{T: t, r: rand.New(rand.NewPCG(seed, 1)), now: time.Date(2031, 5, 6, 7, 8, 9, 0, time.UTC)}
	var err error
	m.store, err = sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "model.db"), sqlite.Options{Now: func() time.Time { return m.now }})
	m.ok(err)
	m.Service = New(Config{Store: m.store, Engine: otherEngine{}, Metrics: metrics.New("test")})
	defer func() { m.Service.Close(); m.ok(m.store.Close()) }()
	a := &identity.Account{Owner: job.Owner{ID: uuid.New()}, Email: "model@example.com", CreatedAt: m.now,
		Secrets: []identity.Secret{{Value: "whsec_x", CreatedAt: m.now}}}
	m.ok(m.store.AccountInsert(t.Context(), a))
	m.owner = a.Owner
	m.node, err = m.store.NodeStart(t.Context())
	m.ok(err)
	for range 1500 {
		m.step()
		m.verify()
		if t.Failed() {
			t.Fatalf("after %v", m.log[max(0, len(m.log)-12):])
		}
		m.now = m.now.Add(time.Duration(m.r.IntN(400)) * time.Millisecond)
	}
}

func (m *scheduleModel) ok(err error) {
	m.Helper()
	if err != nil {
		m.Fatalf("%v after %v", err, m.log[max(0, len(m.log)-12):])
	}
}

func (m *scheduleModel) note(format string, args ...any) {
	m.log = append(m.log, fmt.Sprintf(format, args...))
}

func (m *scheduleModel) step() {
	switch n := m.r.IntN(20); {
	case !m.exists || n < 3:
		m.put()
	case n < 8:
		m.patch()
	case n == 8:
		m.note("disable")
		_, err := m.Disable(m.Context(), m.owner, m.id, Match{})
		m.ok(err)
		m.disabled = true
	case n < 11:
		m.note("enable")
		_, err := m.Enable(m.Context(), m.owner, m.id, Match{})
		m.ok(err)
		m.disabled = false
	case n == 11 && m.r.IntN(6) == 0:
		m.note("delete")
		m.ok(m.Delete(m.Context(), m.owner, m.id, Match{}))
		m.exists = false
	case n == 12:
		_, created, err := m.RunSchedule(m.Context(), m.owner, m.id)
		m.note("run: created %v, %v", created, err)
		if err != nil && fault.CodeOf(err) != fault.Conflict {
			m.ok(err)
		}
	default:
		m.fire()
	}
}

// put replaces the schedule, sometimes by what it is.
func (m *scheduleModel) put() {
	name, body, every := m.name, m.body, m.every
	if !m.exists || m.r.IntN(3) > 0 {
		name, body, every = fmt.Sprint("n", m.r.IntN(3)), m.r.IntN(4), 1+m.r.IntN(3)
	}
	text := fmt.Sprintf(`{"url":"https://example.com","method":"post","metadata":false,"body":%d,"repeat_every":%d`, body, every)
	if name != "" {
		text += `,"name":"` + name + `"`
	}
	result, err := m.PutSchedule(m.Context(), m.owner, modelKey, rawjson.Value(text+`}`), Match{})
	m.note("put %s: %v", text, err)
	if fault.CodeOf(err) == fault.Conflict && !m.exists && m.claimed {
		return // a run under way of the deleted schedule holds the key
	}
	m.ok(err)
	if result.Created == m.exists {
		m.Errorf("created is %v", result.Created)
	}
	switch {
	case result.Created:
		m.id, m.exists, m.disabled, m.revision = result.Schedule.ID, true, false, 1
	case name != m.name || body != m.body || every != m.every:
		m.revision++
	}
	m.name, m.body, m.every = name, body, every
}

func (m *scheduleModel) patch() {
	match := Match{}
	switch m.r.IntN(4) {
	case 0:
		match = Match{Given: true, Revisions: []int64{m.revision, 999}}
	case 1:
		match = Match{Given: true, Revisions: []int64{m.revision - 1}}
	}
	before := *m
	text := ""
	switch m.r.IntN(4) {
	case 0:
		m.name, text = "", `{"name":null}`
	case 1:
		m.body = m.r.IntN(4)
		text = fmt.Sprintf(`{"body":%d}`, m.body)
	case 2:
		m.every = 1 + m.r.IntN(3)
		text = fmt.Sprintf(`{"repeat_every":%d}`, m.every)
	case 3:
		m.name, m.body = fmt.Sprint("n", m.r.IntN(3)), m.r.IntN(4)
		text = fmt.Sprintf(`{"name":"%s","body":%d}`, m.name, m.body)
	}
	_, err := m.EditSchedule(m.Context(), m.owner, m.id, rawjson.Value(text), match)
	m.note("patch %s %+v: %v", text, match, err)
	if match.Given && len(match.Revisions) == 1 {
		if fault.CodeOf(err) != fault.Stale {
			m.Errorf("a stale edit: %v", err)
		}
		m.name, m.body, m.every = before.name, before.body, before.every
		return
	}
	m.ok(err)
	if m.name != before.name || m.body != before.body || m.every != before.every {
		m.revision++
	}
}

// fire prepares, claims or finishes an attempt: a step each, so that others happen
// in between.
func (m *scheduleModel) fire() {
	ctx := m.Context()
	switch {
	case m.claimed:
		m.now = schedule.Later(m.now, m.attempt.StartAt)
		status := []int{200, 200, 500}[m.r.IntN(3)]
		outcome := job.Outcome{Response: &job.Response{Status: status, Header: http.Header{}}, Duration: time.Millisecond}
		held, err := m.store.QueueFinish(ctx, []store.Finish{m.attempt.Finish(m.node, outcome,
			lifecycle.Span{Began: m.attempt.StartAt, Ended: m.now})})
		m.note("finish with %d: %v", status, held)
		m.ok(err)
		if j, err := m.store.JobGet(ctx, m.owner, job.Ref{Number: m.claim.Number}); !held[0] &&
			(err != nil || !j.State.Final() && j.Revision == m.claim.Revision) {
			m.Errorf("the claim of an attempt was lost: %v", err)
		}
		m.attempt, m.claimed = nil, false
	case m.attempt != nil:
		m.now = schedule.Later(m.now, m.attempt.StartAt.Add(-store.ClaimAhead))
		got, err := m.store.QueueClaim(ctx, m.node, []store.Claim{m.claim})
		m.note("claim: %v", got)
		m.ok(err)
		if m.claimed = got[0]; !m.claimed {
			m.attempt = nil
			return
		}
		j, err := m.store.JobGet(ctx, m.owner, job.Ref{Number: m.claim.Number})
		m.ok(err)
		if want := job.ReadSpec(j.Args).Body; !bytes.Equal(m.attempt.Outgoing.Body, want) {
			m.Errorf("the attempt sends %s, the job has %s", m.attempt.Outgoing.Body, want)
		}
	default:
		refs, err := m.store.QueuePeek(ctx, store.QueueKey{}, m.now, 1)
		m.ok(err)
		if len(refs) == 0 || refs[0].Due.After(m.now.Add(ahead)) {
			m.note("nothing is due")
			return
		}
		items, err := m.store.QueueLoad(ctx, refs)
		m.ok(err)
		m.attempt = lifecycle.Begin(items[0], m.now, nil)
		m.claim = m.attempt.Claim()
		m.note("prepare %d", m.claim.Number)
	}
}

// verify compares the schedule with the model.
func (m *scheduleModel) verify() {
	ctx := m.Context()
	found, err := m.ScheduleHolding(ctx, m.owner, modelKey)
	if !m.exists {
		if fault.CodeOf(err) != fault.NotFound {
			m.Errorf("a deleted schedule: %v, %v", found, err)
		}
		return
	}
	m.ok(err)
	spec := job.ReadSpec(found.Args)
	name := ""
	if found.Name != nil {
		name = *found.Name
	}
	if found.ID != m.id || name != m.name || string(spec.Body) != fmt.Sprint(m.body) || string(spec.RepeatEvery) != fmt.Sprint(m.every) ||
		found.Revision != m.revision || found.Live() == m.disabled {
		m.Errorf("the schedule is %+v with %s, want name %q, body %d, every %d, revision %d, disabled %v", found, found.Args, m.name,
			m.body, m.every, m.revision, m.disabled)
	}
	history, err := m.ScheduleRevisions(ctx, m.owner, m.id)
	m.ok(err)
	if int64(len(history)) != min(m.revision-1, job.MaxRevisions) {
		m.Errorf("the history of revision %d has %d edits", m.revision, len(history))
	}
	for i, r := range history {
		if r.Number != m.revision-int64(i) {
			m.Errorf("edit %d of the history made revision %d", i, r.Number)
		}
	}
	runs, err := m.store.JobList(ctx, m.owner, job.Query{Schedule: m.id, ListQuery: job.ListQuery{Limit: 5}})
	m.ok(err)
	unfinished := 0
	for _, j := range runs {
		if j.State.Final() {
			continue
		}
		unfinished++
		runName := ""
		if j.Name != nil {
			runName = *j.Name
		}
		if !j.DueAt.After(m.now.Add(lifecycle.Soon)) || j.State == job.Executing || m.claimed && j.Number == m.claim.Number &&
			!m.claim.StartAt.After(m.now.Add(lifecycle.Soon)) {
			continue // it may keep what it has
		}
		if runName != m.name || !bytes.Equal(j.Args, found.Args) {
			m.Errorf("the pending run has the name %q and %s, the schedule %q and %s", runName, j.Args, m.name, found.Args)
		}
	}
	if unfinished > 1 || unfinished == 0 && !m.disabled {
		m.Errorf("there are %d unfinished runs", unfinished)
	}
}
