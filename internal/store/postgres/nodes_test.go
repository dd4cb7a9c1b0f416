package postgres_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/punctual-dev/punctual/internal/identity"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/store"
	"github.com/punctual-dev/punctual/internal/store/postgres"
	"github.com/punctual-dev/punctual/test/pace"
)

// cluster is several nodes on one database.
type cluster struct {
	*testing.T
	url    string
	owner  job.Owner
	stores []*postgres.Store
	nodes  []int64
	heard  []*ears
	watch  *pace.Watch
}

// ears records the notices that a node receives.
type ears struct {
	mu        sync.Mutex
	cancelled []int64
	elsewhere int
	alerts    int
	news      chan struct{}
}

func (e *ears) hear(n store.Notice) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, c := range n.Cancelled {
		e.cancelled = append(e.cancelled, c.Number)
	}
	if !n.EarliestElsewhere.IsZero() {
		e.elsewhere++
	}
	if n.Alerts {
		e.alerts++
	}
	select {
	case e.news <- struct{}{}:
	default:
	}
}

func nodes(t *testing.T, url string, n int) *cluster {
	t.Helper()
	return nodesWith(t, url, n, postgres.Options{})
}

// hearers returns nodes that read no cancels of which they get no notice, while notices
// arrive.
func hearers(t *testing.T, url string) *cluster {
	t.Helper()
	return nodesWith(t, url, 2, postgres.Options{CancelsEvery: 24 * time.Hour})
}

func nodesWith(t *testing.T, url string, n int, options postgres.Options) *cluster {
	t.Helper()
	c := &cluster{T: t, url: url, watch: pace.Start()}
	t.Cleanup(c.watch.Stop)
	for range n {
		s := openWith(t, url, options)
		t.Cleanup(func() { _ = s.Close() })
		e := &ears{news: make(chan struct{}, 1)}
		s.Subscribe(e.hear)
		node, err := s.NodeStart(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		c.stores, c.nodes, c.heard = append(c.stores, s), append(c.nodes, node), append(c.heard, e)
	}
	a := &identity.Account{Owner: job.Owner{ID: uuid.New()}, Email: "owner@example.com", CreatedAt: c.stores[0].Now()}
	c.ok(c.stores[0].AccountInsert(t.Context(), a))
	c.owner = a.Owner
	return c
}

func (c *cluster) ok(err error) {
	c.Helper()
	if err != nil {
		c.Fatal(err)
	}
}

// soon waits until a condition is true, which must be in time.
func (c *cluster) soon(limit time.Duration, what string, holds func() bool) {
	c.Helper()
	start := time.Now()
	c.within(limit, what, holds)
	c.inTime(start, limit, what)
}

// inTime fails the test if too much time has passed, beside how late the machine is.
func (c *cluster) inTime(start time.Time, limit time.Duration, what string) {
	c.Helper()
	if took, allowed := time.Since(start), pace.Limit(limit)+c.watch.Slack(start); took > allowed {
		c.Errorf("waited %v for %s, allowed are %v", took, what, allowed)
	}
}

// within waits until a condition is true; only if the store is broken, it takes longer
// than the limit of a usual machine.
func (c *cluster) within(limit time.Duration, what string, holds func() bool) {
	c.Helper()
	limit = pace.Guard(limit)
	start := time.Now()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		if time.Since(start) > limit {
			c.Fatalf("waited %v for %s", limit, what)
		}
		<-tick.C
	}
}

func (c *cluster) job(s *postgres.Store, due time.Time) *job.Job {
	return &job.Job{
		ID: job.NewID(s.Now()), Owner: c.owner, InsertedAt: s.Now(), ScheduledAt: due, DueAt: due, State: job.Available,
		Args: rawjson.Value(`{"url":"https://example.com/"}`),
	}
}

func (c *cluster) insert(s *postgres.Store, due time.Time) *job.Job {
	c.Helper()
	inserted, err := s.JobInsertMany(c.Context(), []store.NewJob{{Job: c.job(s, due)}})
	c.ok(err)
	return inserted[0].Job
}

func claimOf(j *job.Job, attempt int) store.Claim {
	return store.Claim{QueueKey: store.QueueKey{ItemID: store.ItemID{Number: j.Number}, Due: j.DueAt, Account: j.Owner.Number,
		Revision: j.Revision}, Attempt: attempt, StartAt: j.DueAt}
}

func (c *cluster) claim(i int, j *job.Job, attempt int) bool {
	c.Helper()
	got, err := c.stores[i].QueueClaim(c.Context(), c.nodes[i], []store.Claim{claimOf(j, attempt)})
	c.ok(err)
	return got[0]
}

// ends completes a claimed job.
func (c *cluster) ends(i int, node int64, j *job.Job, attempt int) bool {
	c.Helper()
	held, err := c.stores[i].QueueFinish(c.Context(), []store.Finish{{
		QueueKey: claimOf(j, attempt).QueueKey, Node: node, Attempt: attempt, Job: j,
		Decide: func(m *store.Snapshot) *store.Changes {
			after := *m.Job
			after.State, after.CompletedAt = job.Completed, m.Now
			return &store.Changes{Job: &after}
		},
	}})
	c.ok(err)
	return held[0]
}

func cancel(m *store.Snapshot) *store.Changes {
	after := *m.Job
	after.Cancel(m.Now)
	return &store.Changes{Job: &after, RollbackClaim: m.Claim != nil}
}

func TestJobInsertMany_StoresOneOfManyWithTheSameKey(t *testing.T) {
	c := nodes(t, migrated(t), 3)
	for round := range 5 {
		key := fmt.Sprintf("key %d", round)
		var stored atomic.Int64
		var ids sync.Map
		var wg sync.WaitGroup
		for i := range 100 {
			wg.Go(func() {
				s := c.stores[i%3]
				n := store.NewJob{Job: c.job(s, s.Now().Add(time.Hour))}
				n.Job.Key = &key
				if i%4 == 0 {
					n.Schedule = &job.Schedule{ID: uuid.New(), Owner: c.owner, Key: &key, InsertedAt: s.Now(), FirstDue: s.Now(),
						Args: n.Job.Args}
					n.Job.ScheduleID = n.Schedule.ID
				}
				got, err := s.JobInsertMany(t.Context(), []store.NewJob{n})
				if err != nil {
					t.Errorf("create: %v", err)
					return
				}
				if !got[0].Conflict {
					stored.Add(1)
				}
				ids.Store(got[0].Job.ID, true)
			})
		}
		wg.Wait()
		different := 0
		ids.Range(func(any, any) bool { different++; return true })
		if stored.Load() != 1 || different != 1 {
			t.Errorf("%d were stored, %d different jobs were returned; want one", stored.Load(), different)
		}
	}
}

func TestQueueClaim_EachItemIsClaimedByOneNode(t *testing.T) {
	c := nodes(t, migrated(t), 3)
	var claims []store.Claim
	for range 200 {
		claims = append(claims, claimOf(c.insert(c.stores[0], c.stores[0].Now()), 1))
	}
	counts := make([]atomic.Int64, len(claims))
	var wg sync.WaitGroup
	for i, s := range c.stores {
		for part := range 4 {
			wg.Go(func() {
				for from := part * 50; from < 200; from += 10 { // they overlap
					got, err := s.QueueClaim(t.Context(), c.nodes[i], claims[from:from+10])
					if err != nil {
						t.Errorf("QueueClaim: %v", err)
						return
					}
					for k, ok := range got {
						if ok {
							counts[from+k].Add(1)
						}
					}
				}
			})
		}
	}
	wg.Wait()
	for i := range counts {
		if n := counts[i].Load(); n != 1 {
			t.Errorf("item %d was claimed %d times", i, n)
		}
	}
}

func TestQueueAbandoned_ItemsOfASilentNodeEndOnce(t *testing.T) {
	c := nodes(t, migrated(t), 3)
	j := c.insert(c.stores[0], c.stores[0].Now())
	if !c.claim(0, j, 1) {
		t.Fatal("the item was not claimed")
	}
	conn, err := pgx.Connect(t.Context(), c.url)
	c.ok(err)
	defer func() { _ = conn.Close(context.Background()) }()
	_, err = conn.Exec(t.Context(), `UPDATE nodes SET beat_at = beat_at - 16000000 WHERE number = $1`, c.nodes[0])
	c.ok(err)
	var found []store.Abandoned
	c.within(20*time.Second, "the silent node to be noticed", func() bool {
		for _, i := range []int{1, 2} {
			_, err := c.stores[i].NodeHeartbeat(t.Context(), c.nodes[i])
			c.ok(err)
		}
		found, err = c.stores[1].QueueAbandoned(t.Context(), 10)
		c.ok(err)
		return len(found) > 0
	})
	if len(found) != 1 || found[0].Node != c.nodes[0] {
		t.Fatalf("abandoned are %+v, want the run of node %d", found, c.nodes[0])
	}
	beat, err := c.stores[0].NodeHeartbeat(t.Context(), c.nodes[0])
	c.ok(err)
	if !beat.LeaseExpired || c.stores[0].NodeHoldsLease(c.nodes[0]) {
		t.Errorf("the silent node got %+v and its lease is %v, want it expired", beat, c.stores[0].NodeHoldsLease(c.nodes[0]))
	}
	ended := 0
	for i := range c.stores { // two reclaim it, and the silent one ends it late
		if c.ends(i, c.nodes[0], j, 1) {
			ended++
		}
	}
	if ended != 1 {
		t.Errorf("the attempt ended %d times", ended)
	}
	_, err = c.stores[2].NodeHeartbeat(t.Context(), c.nodes[2])
	c.ok(err)
	if beat, err := c.stores[1].NodeHeartbeat(t.Context(), c.nodes[1]); err != nil || len(beat.Nodes) != 2 {
		t.Errorf("alive are %v (%v), want two", beat.Nodes, err)
	}
}

// A claim passes over an item that a transaction has locked, unless it is told to wait.
// It waits for a moment only, and claims nothing if that is not enough.
func TestQueueClaim_WaitsForLockedItemsIfTold(t *testing.T) {
	c := nodes(t, migrated(t), 2)
	j, other := c.insert(c.stores[0], c.stores[0].Now()), c.insert(c.stores[0], c.stores[0].Now())
	locked, release, changed := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		_, err := c.stores[1].JobChange(t.Context(), c.owner, job.Ref{Number: j.Number}, func(*store.Snapshot) *store.Changes {
			close(locked)
			<-release
			return nil
		})
		changed <- err
	}()
	<-locked
	claims := []store.Claim{claimOf(j, 1), claimOf(other, 1)}
	got, err := c.stores[0].QueueClaim(t.Context(), c.nodes[0], claims)
	if c.ok(err); got[0] || !got[1] {
		t.Errorf("claimed without waiting: %v, want the second alone", got)
	}
	claims[0].Wait = true
	began := time.Now()
	got, err = c.stores[0].QueueClaim(t.Context(), c.nodes[0], claims[:1])
	if c.ok(err); got[0] || time.Since(began) < 50*time.Millisecond {
		t.Errorf("claimed %v after %v, want nothing after 50 ms", got, time.Since(began))
	}
	close(release)
	c.ok(<-changed)
	got, err = c.stores[0].QueueClaim(t.Context(), c.nodes[0], claims[:1])
	if c.ok(err); !got[0] {
		t.Error("not claimed after it was unlocked")
	}
}

func TestQueueClaim_ExpiredNodeClaimsNothing(t *testing.T) {
	c := nodes(t, migrated(t), 2)
	j := c.insert(c.stores[0], c.stores[0].Now())
	c.ok(c.stores[1].LapseNode(t.Context(), c.nodes[0]))
	if c.claim(0, j, 1) {
		t.Error("a node with an expired lease claimed an item")
	}
	if !c.claim(1, j, 1) {
		t.Error("the item can't be claimed by another node")
	}
}

func TestJobChange_CancelReachesTheClaimingNode(t *testing.T) {
	c := hearers(t, migrated(t))
	c.hearing()
	for range 5 {
		j := c.insert(c.stores[0], c.stores[0].Now())
		if !c.claim(0, j, 1) {
			t.Fatal("the item was not claimed")
		}
		_, err := c.stores[1].JobChange(t.Context(), c.owner, job.Ref{Number: j.Number}, cancel)
		c.ok(err)
		c.within(0, "the cancel to arrive", func() bool { return c.heard[0].cancel() == j.Number })
	}
}

// A claim commits while a cancel waits for its row. The attempt starts before the
// cancel is decided, which must see it as started.
func TestDecide_SeesTheTimeAtWhichItsRowsWereLocked(t *testing.T) {
	c := nodes(t, migrated(t), 1)
	s := c.stores[0]
	schedule := &job.Schedule{ID: job.NewID(s.Now()), Owner: c.owner, InsertedAt: s.Now(), FirstDue: s.Now(), Args: rawjson.Value(`{}`)}
	j := c.job(s, s.Now())
	j.ScheduleID = schedule.ID
	inserted, err := s.JobInsertMany(t.Context(), []store.NewJob{{Job: j, Schedule: schedule}})
	c.ok(err)
	number := inserted[0].Job.Number
	var snapshot store.Snapshot
	look := func(m *store.Snapshot) *store.Changes {
		snapshot = *m
		return nil
	}
	for name, change := range map[string]func() error{
		"a job": func() error {
			_, err := s.JobChange(t.Context(), c.owner, job.Ref{Number: number}, look)
			return err
		},
		"a schedule": func() error {
			_, err := s.ScheduleChange(t.Context(), c.owner, schedule.ID, look)
			return err
		},
	} {
		claim, err := pgx.Connect(t.Context(), c.url)
		c.ok(err)
		t.Cleanup(func() { _ = claim.Close(context.Background()) })
		_, err = claim.Exec(t.Context(), `BEGIN`)
		c.ok(err)
		_, err = claim.Exec(t.Context(), `UPDATE runs SET node = 99, attempt = 1 WHERE number = $1`, number)
		c.ok(err)
		done := make(chan error, 1)
		go func() { done <- change() }()
		c.within(4*time.Second, "the change to wait for the claim", func() bool {
			var waiting int
			c.ok(claim.QueryRow(t.Context(), `SELECT count(*) FROM pg_locks WHERE NOT granted AND pg_backend_pid() = ANY(pg_blocking_pids(pid))`).Scan(&waiting))
			return waiting > 0
		})
		begin := s.Now()
		_, err = claim.Exec(t.Context(), `UPDATE runs SET begin_at = $2 WHERE number = $1`, number, begin.UnixMicro())
		c.ok(err)
		_, err = claim.Exec(t.Context(), `COMMIT`)
		c.ok(err)
		c.ok(<-done)
		if snapshot.Claim == nil || !snapshot.Claim.StartAt.Equal(begin) || snapshot.Now.Before(begin) {
			t.Errorf("%s is decided at %s, with the claim %+v, which started at %s", name, snapshot.Now, snapshot.Claim, begin)
		}
	}
}

// cancel removes and returns the oldest cancel received; 0 if there is none.
func (e *ears) cancel() int64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.cancelled) == 0 {
		return 0
	}
	number := e.cancelled[0]
	e.cancelled = e.cancelled[1:]
	return number
}

// hearing waits until all nodes receive each other's notices.
func (c *cluster) hearing() {
	c.Helper()
	c.within(10*time.Second, "notices to arrive", func() bool {
		for i, s := range c.stores {
			beat, err := s.NodeHeartbeat(c.Context(), c.nodes[i])
			c.ok(err)
			if beat.NotificationsDown {
				return false
			}
		}
		return true
	})
}

func TestSubscribe_NotifiesOtherNodesOfItemsDueSoon(t *testing.T) {
	c := hearers(t, migrated(t))
	c.hearing()
	var own, notices int
	for range 2 { // a poll that began before the nodes heard each other may add a notice, once
		before := c.heard[1].count()
		c.insert(c.stores[0], c.stores[0].Now().Add(time.Hour))
		own = c.heard[0].count()
		c.insert(c.stores[0], c.stores[0].Now())
		c.within(0, "the other node to hear", func() bool { return c.heard[1].count() > before })
		if notices = c.heard[1].count() - before; notices == 1 {
			break
		}
	}
	if notices != 1 {
		t.Error("the other node was notified of an item that is due in an hour")
	}
	if c.heard[0].count() != own {
		t.Error("a node was notified of its own item as of another node's")
	}
}

func (e *ears) count() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.elsewhere
}

func TestAlertPut_NotifiesOtherNodes(t *testing.T) {
	c := nodes(t, migrated(t), 2)
	c.hearing()
	told := func() int {
		c.heard[1].mu.Lock()
		defer c.heard[1].mu.Unlock()
		return c.heard[1].alerts
	}
	_, err := c.stores[0].AlertPut(t.Context(), &store.Alert{Owner: c.owner, Name: "a", Definition: rawjson.Value(`{"on":["failed"]}`),
		Match: rawjson.Value(`{}`)}, store.PutAlways)
	c.ok(err)
	c.within(10*time.Second, "the other node to hear of a new alert", func() bool { return told() == 1 })
	c.ok(c.stores[0].AlertDelete(t.Context(), c.owner, "a"))
	c.within(10*time.Second, "the other node to hear of a deleted alert", func() bool { return told() == 2 })
}

func TestNodeStop_AbandonsItsClaims(t *testing.T) {
	c := nodes(t, migrated(t), 2)
	j := c.insert(c.stores[0], c.stores[0].Now())
	if !c.claim(0, j, 1) {
		t.Fatal("the item was not claimed")
	}
	c.ok(c.stores[0].NodeStop(t.Context(), c.nodes[0]))
	found, err := c.stores[1].QueueAbandoned(t.Context(), 10)
	if err != nil || len(found) != 1 {
		t.Errorf("QueueAbandoned = %v (%v), want what the stopped node held", found, err)
	}
}

// Nodes that take the same item at once are no crash, and what the first of them
// noted stays.
func TestSuspectNote_OfANodeThatLivesStays(t *testing.T) {
	c := nodes(t, migrated(t), 3)
	ref := claimOf(c.insert(c.stores[0], c.stores[0].Now()), 1).QueueKey
	for range 3 {
		for i, s := range c.stores {
			c.ok(s.SuspectNote(t.Context(), c.nodes[i], []store.QueueKey{ref}, true))
		}
	}
	list := func(at int) (crashes int) {
		found, _, err := c.stores[at].SuspectList(t.Context(), c.nodes[at], 10)
		c.ok(err)
		for _, s := range found {
			crashes += s.Crashes
		}
		return crashes
	}
	if n := list(2); n != 0 {
		t.Errorf("%d crashes were counted while all nodes live", n)
	}
	c.ok(c.stores[1].NodeStop(t.Context(), c.nodes[1]))
	if n := list(2); n != 0 {
		t.Errorf("%d crashes were counted after a node had ended whose note came second", n)
	}
	c.ok(c.stores[0].NodeStop(t.Context(), c.nodes[0]))
	if n := list(2); n != 1 {
		t.Errorf("%d crashes were counted after the first node had ended, want 1", n)
	}
}

func TestOpen_SimultaneouslyOnAnEmptyDatabase(t *testing.T) {
	url := empty(t)
	var wg sync.WaitGroup
	for range 6 {
		wg.Go(func() {
			s, err := postgres.Open(t.Context(), url, postgres.Options{})
			if err != nil {
				t.Errorf("Open: %v", err)
				return
			}
			if err := s.Ping(t.Context()); err != nil {
				t.Errorf("Ping: %v", err)
			}
			_ = s.Close()
		})
	}
	wg.Wait()
}

// Of jobs created at once on several nodes, exactly as many are stored as the
// account's limit allows.
func TestJobInsertMany_EnforcesLimitsAcrossNodes(t *testing.T) {
	c := nodes(t, migrated(t), 3)
	const most = 25
	for _, cancelled := range []int{0, 6, 1} {
		for _, j := range c.pending()[:cancelled] {
			_, err := c.stores[0].JobChange(t.Context(), c.owner, job.Ref{Number: j.Number}, cancel)
			c.ok(err)
		}
		var wg sync.WaitGroup
		for i := range 60 {
			wg.Go(func() {
				s := c.stores[i%3]
				jobs := []store.NewJob{{Job: c.job(s, s.Now().Add(time.Hour))}, {Job: c.job(s, s.Now().Add(time.Hour))}}
				for k := range jobs {
					jobs[k].Caps.Pending = most
				}
				if _, err := s.JobInsertMany(t.Context(), jobs); err != nil {
					t.Errorf("create: %v", err)
				}
			})
		}
		wg.Wait()
		if n := len(c.pending()); n != most {
			t.Errorf("after %d were cancelled there are %d jobs, want %d", cancelled, n, most)
		}
	}
}

// pending returns the owner's unfinished jobs.
func (c *cluster) pending() []*job.Job {
	c.Helper()
	jobs, err := c.stores[1].JobList(c.Context(), c.owner,
		job.Query{ListQuery: job.ListQuery{Limit: 100}, States: []job.State{job.Available}})
	c.ok(err)
	return jobs
}
