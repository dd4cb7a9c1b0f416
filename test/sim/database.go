package sim

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/punctual-dev/punctual/internal/identity"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/operator"
	"github.com/punctual-dev/punctual/internal/store"
	sqlitestore "github.com/punctual-dev/punctual/internal/store/sqlite"
)

// The times of leases, as the store for PostgreSQL has them.
const (
	silentFor   = 15 * time.Second
	holdsFor    = 10 * time.Second
	listedFor   = 5 * time.Second
	expireAfter = 4 * time.Second
	tellAhead   = 1500 * time.Millisecond
)

// database is the database of all nodes: the store for SQLite, with the leases of
// many nodes as PostgreSQL keeps them. Each node has a session.
type database struct {
	store  *sqlitestore.Store
	truth  *sqlite.Conn // reads what is committed
	owners []job.Owner

	clock func() time.Time // of the machine it is on

	mu     sync.Mutex
	offset time.Duration // by which the clock is wrong
	caller *session      // whose call is carried out
	next   int64         // the number of the next node
	beats  map[int64]time.Time
	open   []*session
}

// empty returns the file of a database without records. Copying it is faster than
// making its tables.
func empty(dir string) ([]byte, error) {
	path := filepath.Join(dir, "empty.db")
	s, err := sqlitestore.Open(context.Background(), path, sqlitestore.Options{})
	if err != nil {
		return nil, err
	}
	if err := s.Close(); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
}

func openDatabase(dir string, file []byte, accounts int) (*database, error) {
	d := &database{clock: time.Now, next: 10, beats: map[int64]time.Time{}}
	path := filepath.Join(dir, "sim.db")
	ctx := context.Background()
	err := os.WriteFile(path, file, 0o600)
	if err != nil {
		return nil, err
	}
	if d.store, err = sqlitestore.Open(ctx, path, sqlitestore.Options{Now: d.now}); err != nil {
		return nil, err
	}
	d.store.Subscribe(d.notice)
	if d.truth, err = sqlite.OpenConn(path, sqlite.OpenReadOnly); err != nil {
		return nil, err
	}
	for i := range accounts {
		a := &identity.Account{
			Owner: job.Owner{ID: uuid.New()}, Email: fmt.Sprintf("a%d@example.com", i), CreatedAt: d.now(),
			Secrets: []identity.Secret{{Value: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", CreatedAt: d.now()}},
		}
		if err := d.store.AccountInsert(ctx, a); err != nil {
			return nil, err
		}
		d.owners = append(d.owners, a.Owner)
		if err := d.store.KeyInsert(ctx, d.keyFor(i, a.Owner)); err != nil {
			return nil, err
		}
	}
	return d, nil
}

func (d *database) close() error {
	_ = d.truth.Close()
	return d.store.Close()
}

// now is the clock of the database, which decides what is due.
func (d *database) now() time.Time {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.clock().Add(d.offset)
}

// step moves the clock.
func (d *database) step(by time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.offset += by
}

// session is a node's connection to the database.
type session struct {
	store.Store
	db     *database
	node   *node
	opened time.Time

	mu     sync.Mutex
	notify func(store.Notice)
	leases map[int64]time.Time // when the last heartbeat of each was sent
}

func (d *database) connect(n *node) *session {
	s := &session{Store: d.store, db: d, node: n, opened: time.Now(), leases: map[int64]time.Time{}}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.open = append(d.open, s)
	return s
}

func (d *database) disconnect(s *session) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.open = slices.DeleteFunc(d.open, func(o *session) bool { return o == s })
}

func (d *database) sessions() []*session {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.open)
}

// call carries out a session's call.
func (d *database) call(s *session, do func() error) error {
	d.mu.Lock()
	d.caller = s
	d.mu.Unlock()
	return do()
}

// notice tells the caller what it has stored, and the other nodes that something
// was.
func (d *database) notice(n store.Notice) {
	d.mu.Lock()
	caller := d.caller
	d.mu.Unlock()
	if caller == nil {
		return
	}
	caller.tell(n)
	d.elsewhere(caller, n.Items)
}

// elsewhere tells other nodes of items that they may have to claim.
func (d *database) elsewhere(caller *session, items []store.QueueKey) {
	var earliest time.Time
	soon := d.now().Add(tellAhead)
	for _, k := range items {
		if k.Due.Before(soon) && (earliest.IsZero() || k.Due.Before(earliest)) {
			earliest = k.Due
		}
	}
	if earliest.IsZero() {
		return
	}
	for _, s := range d.sessions() {
		if s != caller {
			s.node.world.deliver(s, store.Notice{EarliestElsewhere: earliest})
		}
	}
}

// tell passes a notice to the engine of a session's node.
func (s *session) tell(n store.Notice) {
	s.mu.Lock()
	notify := s.notify
	s.mu.Unlock()
	if notify != nil {
		notify(n)
	}
}

// Subscribe implements store.Store.
func (s *session) Subscribe(f func(store.Notice)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.notify = f
}

// Now implements store.Store. A process that stands still learns the time afterwards.
func (s *session) Now() time.Time {
	if s.node != nil {
		time.Sleep(time.Until(s.node.goesOn()))
	}
	return s.Store.Now()
}

// Close implements store.Store. The database stays open for others.
func (s *session) Close() error { return nil }

// NodeStart implements store.Nodes.
func (s *session) NodeStart(context.Context) (int64, error) {
	sent := time.Now()
	s.db.mu.Lock()
	node := s.db.next
	s.db.next++
	s.db.beats[node] = sent
	s.db.mu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.leases[node] = sent
	return node, nil
}

// NodeHeartbeat implements store.Nodes.
func (s *session) NodeHeartbeat(_ context.Context, node int64) (store.Heartbeat, error) {
	now := time.Now()
	s.db.mu.Lock()
	_, registered := s.db.beats[node]
	beat := store.Heartbeat{LeaseExpired: !registered}
	if registered {
		s.db.beats[node] = now
	}
	for number, at := range s.db.beats {
		if now.Sub(at) < listedFor {
			beat.Nodes = append(beat.Nodes, number)
		}
	}
	s.db.mu.Unlock()
	slices.Sort(beat.Nodes)
	s.mu.Lock()
	defer s.mu.Unlock()
	if !registered {
		delete(s.leases, node)
		return beat, nil
	}
	s.leases[node] = now
	return beat, nil
}

// NodeHoldsLease implements store.Nodes.
func (s *session) NodeHoldsLease(node int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	sent, known := s.leases[node]
	return known && time.Since(sent) < holdsFor
}

// NodeList implements store.People.
func (s *session) NodeList(context.Context) ([]operator.Node, error) {
	s.db.mu.Lock()
	defer s.db.mu.Unlock()
	var nodes []operator.Node
	for number, at := range s.db.beats {
		nodes = append(nodes, operator.Node{Number: number, HeartbeatAt: at})
	}
	slices.SortFunc(nodes, func(a, b operator.Node) int { return int(a.Number - b.Number) })
	return nodes, nil
}

// NodeStop implements store.Nodes.
func (s *session) NodeStop(_ context.Context, node int64) error {
	s.db.mu.Lock()
	delete(s.db.beats, node)
	s.db.mu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.leases, node)
	return nil
}

// registered reports whether a node's lease has not been expired.
func (d *database) registered(node int64) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	_, ok := d.beats[node]
	return ok
}

// QueueClaim implements store.Queue. A node whose lease has expired claims nothing.
func (s *session) QueueClaim(ctx context.Context, node int64, claims []store.Claim) ([]bool, error) {
	if !s.db.registered(node) {
		return make([]bool, len(claims)), nil
	}
	return s.Store.QueueClaim(ctx, node, claims)
}

// QueueRelease implements store.Queue. It tells other nodes what is to be claimed.
func (s *session) QueueRelease(ctx context.Context, node int64, claims []store.Claim) error {
	if err := s.Store.QueueRelease(ctx, node, claims); err != nil {
		return err
	}
	items := make([]store.QueueKey, len(claims))
	for i := range claims {
		items[i] = claims[i].QueueKey
	}
	s.db.elsewhere(s, items)
	return nil
}

// QueueAbandoned implements store.Queue. It expires the leases of silent nodes.
func (s *session) QueueAbandoned(_ context.Context, limit int) ([]store.Abandoned, error) {
	now := time.Now()
	s.db.mu.Lock()
	if now.Sub(s.opened) >= expireAfter {
		for number, at := range s.db.beats {
			if now.Sub(at) > silentFor {
				delete(s.db.beats, number)
			}
		}
	}
	s.db.mu.Unlock()
	var found []store.Abandoned
	err := sqlitex.Execute(s.db.truth, `SELECT due, kind, number, account, lane, node, attempt FROM runs WHERE node > 0 AND node <> ? ORDER BY due, kind, number`, &sqlitex.ExecOptions{
		Args: []any{store.AwaitingNode},
		ResultFunc: func(row *sqlite.Stmt) error {
			a := store.Abandoned{Node: row.ColumnInt64(5), Attempt: row.ColumnInt(6)}
			a.Due, a.Kind, a.Number = time.UnixMicro(row.ColumnInt64(0)).UTC(), store.Kind(row.ColumnInt(1)), row.ColumnInt64(2)
			a.Account, a.Lane = row.ColumnInt64(3), uint32(row.ColumnInt64(4))
			if len(found) < limit && !s.db.registered(a.Node) {
				found = append(found, a)
			}
			return nil
		},
	})
	return found, err
}

// JobChange implements store.Jobs. It tells the node whose claim it ends.
func (s *session) JobChange(ctx context.Context, owner job.Owner, id job.Ref, decide store.Decide) (*job.Job, error) {
	ended := s.ends(&decide)
	j, err := s.Store.JobChange(ctx, owner, id, decide)
	ended(err)
	return j, err
}

// ScheduleChange implements store.Schedules. It tells the node whose claim it ends.
func (s *session) ScheduleChange(ctx context.Context, owner job.Owner, id uuid.UUID, decide store.Decide) (*job.Schedule, error) {
	ended := s.ends(&decide)
	found, err := s.Store.ScheduleChange(ctx, owner, id, decide)
	ended(err)
	return found, err
}

// ends notes the claim that a decision ends. The function that it returns tells the
// node that held it.
func (s *session) ends(decide *store.Decide) func(error) {
	inner := *decide
	var claim *store.ClaimInfo
	var ended store.Cancelled
	*decide = func(m *store.Snapshot) *store.Changes {
		claim = nil
		c := inner(m)
		if c != nil && c.Job != nil && m.Claim != nil && !m.Claim.Awaits() {
			claim, ended = m.Claim, store.Cancelled{Number: m.Job.Number, Revision: m.Job.Revision}
		}
		return c
	}
	return func(err error) {
		if err != nil || claim == nil {
			return
		}
		for _, o := range s.db.sessions() {
			o.mu.Lock()
			_, theirs := o.leases[claim.Node]
			o.mu.Unlock()
			if theirs && o != s {
				o.node.world.deliver(o, store.Notice{Cancelled: []store.Cancelled{ended}})
			}
		}
	}
}
