package outbox

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/pause"
)

const (
	// lease is how long a relay that stopped stays the active one, and renewEvery how
	// often it renews that. Others try as often.
	lease      = 8 * time.Second
	renewEvery = 2 * time.Second
	// doubtful is how long a row that was sent may be without an answer. The service
	// remembers it for a day longer.
	doubtful = 6 * 24 * time.Hour
	// The pauses while the service or the database can't be used.
	minBackoff = 100 * time.Millisecond
	maxBackoff = 30 * time.Second
	// The pauses while there are no rows. With notifications they are longer.
	minPoll      = 5 * time.Millisecond
	maxPoll      = 50 * time.Millisecond
	maxQuietPoll = 250 * time.Millisecond
	// countEvery is how often rows are counted, and countShare at most the part of the
	// time that this takes.
	countEvery = 15 * time.Second
	countShare = 20
	// resignWithin is how long a relay that stops takes to end its lease.
	resignWithin = 3 * time.Second
)

// Config configures a Relay.
type Config struct {
	// Source is the URL of the database: postgres://, mysql://, mariadb:// or sqlite:.
	Source string
	// Service is the URL of the service, and Key the key for its calls.
	Service, Key string
	// Host is sent as Host if it isn't empty.
	Host string
	// Client makes the calls; nil is a client with timeouts.
	Client *http.Client
	Log    *slog.Logger
}

// Relay moves rows of an outbox to the service.
type Relay struct {
	Config
	source *source
	id     string
	wake   chan struct{}
	Metrics
	health health

	mu        sync.Mutex
	renewedAt time.Time            // when the lease was taken or renewed last; zero if it isn't held
	standing  string               // the id of the standing note; "" if there is none
	inherited map[string]time.Time // rows that a relay before this one sent, and when
	suspects  []suspect

	notedFor time.Duration
	turning  sync.Mutex     // while a turn changes the position
	flying   sync.WaitGroup // for the batches that are being sent
	left     []note         // of a relay before this one
	want     int
}

// New returns a Relay. It does not connect.
func New(c Config) (*Relay, error) {
	if c.Service == "" || c.Key == "" {
		return nil, errors.New("the relay needs the URL of the service and a key: set PUNCTUAL_URL and PUNCTUAL_API_KEY, or give --url and --api-key")
	}
	s, err := open(c.Source)
	if err != nil {
		return nil, err
	}
	if c.Client == nil {
		c.Client = newClient()
	}
	r := &Relay{Config: c, source: s, id: uuid.NewString(), wake: make(chan struct{}, 1), Metrics: newMetrics(), want: minRows,
		notedFor: notedFor}
	r.health.start()
	return r, nil
}

// Run relays rows until ctx ends. What is under way then is answered or sent again by
// the next relay.
func (r *Relay) Run(ctx context.Context) {
	defer func() { _ = r.source.db.Close() }()
	var tasks sync.WaitGroup
	tasks.Go(func() { r.keepLease(ctx) })
	tasks.Go(func() { r.count(ctx) })
	if r.source.dialect == &postgres {
		tasks.Go(func() { r.listen(ctx) })
	}
	for ctx.Err() == nil {
		if !r.leads() {
			pause.For(ctx, minBackoff)
			continue
		}
		r.guarded(ctx, r.relay)
	}
	tasks.Wait()
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), resignWithin)
	defer cancel()
	if err := r.source.resign(ending, r.id); err != nil {
		r.Log.Warn("the lease of the outbox could not be ended; another relay takes over when it has expired", "error", err)
	}
}

// guarded calls f and survives its panic.
func (r *Relay) guarded(ctx context.Context, f func(context.Context)) {
	defer func() {
		if p := recover(); p != nil {
			r.Log.Error("the relay panicked; going on", "panic", p)
			pause.For(ctx, maxBackoff/10)
		}
	}()
	f(ctx)
}

// leads reports whether this relay is the active one.
func (r *Relay) leads() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	at := r.renewedAt
	// The wall clock counts too: the other one stands still while a machine sleeps.
	return !at.IsZero() && time.Since(at) < lease-renewEvery && time.Now().Round(0).Sub(at.Round(0)) < lease-renewEvery
}

// keepLease takes and renews the lease.
func (r *Relay) keepLease(ctx context.Context) {
	failed := false
	for ctx.Err() == nil {
		start := time.Now()
		within, cancel := context.WithTimeout(ctx, lease/2)
		held, err := r.source.lead(within, r.id, lease, r.stands())
		cancel()
		r.mu.Lock()
		switch {
		case err == nil && held:
			r.renewedAt = start
		case err == nil:
			r.renewedAt = time.Time{}
		}
		r.mu.Unlock()
		r.health.sourceIs(err)
		if err != nil && ctx.Err() == nil && !failed {
			r.Log.Warn("the database of the outbox can't be used; trying again", "error", err)
		}
		failed = err != nil
		r.active(held && err == nil)
		r.health.activeIs(held && err == nil)
		pause.For(ctx, renewEvery)
	}
}

// listen waits for notifications of PostgreSQL.
func (r *Relay) listen(ctx context.Context) {
	backoff := minBackoff
	for ctx.Err() == nil {
		start := time.Now()
		err := listen(ctx, r.Source, r.awake)
		if time.Since(start) > maxBackoff {
			backoff = minBackoff
		}
		if ctx.Err() == nil {
			r.Log.Debug("not listening for rows of the outbox; polling", "error", err)
		}
		pause.For(ctx, backoff)
		backoff = min(2*backoff, maxBackoff)
	}
}

func (r *Relay) awake() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// relay moves rows for as long as this relay is the active one. While many wait, it takes
// a batch while the one before it is sent.
func (r *Relay) relay(ctx context.Context) {
	defer r.flying.Wait()
	r.source.position = position{}
	r.standsBy("")
	if !r.inherit(ctx) {
		return
	}
	r.Log.Info("relaying rows of the outbox", "dialect", r.source.name)
	poll := minPoll
	p := &progress{next: &turn{}, full: true}
	for r.ready(ctx, p) && ctx.Err() == nil && r.leads() {
		r.endedNotes(p.next, p.drained)
		note := uuid.NewString()
		p.next.note, p.next.want, p.next.light, p.next.ahead = note, r.want, !p.full, len(p.flights) > 0
		batch, ok := r.turn(ctx, p.next)
		if !ok {
			break
		}
		p.took(batch, r.want)
		p.alone = !r.canTakeAhead()
		if p.drained {
			pause.Woken(ctx, poll, r.wake)
			poll = min(2*poll, r.longestPoll())
		}
		if len(batch) == 0 {
			continue
		}
		poll = minPoll
		r.adapt(batch)
		p.flights = append(p.flights, r.fly(ctx, batch, note, p.flights))
	}
	r.flying.Wait()
	p.land()
	if p.next.note != "" {
		p.next.ended = append(p.next.ended, p.next.note) // it may be committed although the turn failed
	}
	if p.next.stand != "" {
		p.next.ended = append(p.next.ended, p.next.stand)
	}
	p.next.light, p.next.stand = false, ""
	r.durable(p.next)
	// What was answered last is settled although the relay stops.
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), resignWithin)
	defer cancel()
	p.next.want, p.next.keep = 0, nil
	if _, err := r.source.turn(ending, p.next); err != nil {
		r.Log.Warn("answered rows could not be deleted; they are sent again, and stored once", "error", err)
	}
}

// turn settles a batch and takes the next. It reports false if it could not.
func (r *Relay) turn(ctx context.Context, t *turn) ([]row, bool) {
	r.turning.Lock()
	defer r.turning.Unlock()
	r.durable(t)
	for backoff := minBackoff; ; backoff = min(2*backoff, maxBackoff) {
		batch, err := r.source.turn(ctx, t)
		r.health.sourceIs(err)
		if err == nil {
			if !t.light {
				r.standsBy(t.stand)
			}
			r.settled(t)
			return batch, true
		}
		if ctx.Err() != nil {
			return nil, false
		}
		r.Log.Warn("the database of the outbox can't be used; trying again", "error", err)
		// It may be committed although its response was lost. All but the notes can be
		// repeated: the position is as it was, and the rows were not sent.
		for _, id := range []string{t.note, t.stand} {
			if id != "" && !slices.Contains(t.ended, id) {
				t.ended = append(t.ended, id)
			}
		}
		if !pause.For(ctx, backoff) || !r.leads() || r.stands() != "" || errors.Is(err, errRecovered) {
			return nil, false
		}
	}
}

// canTakeAhead reports whether a batch can be taken before the last one is settled.
func (r *Relay) canTakeAhead() bool {
	r.turning.Lock()
	defer r.turning.Unlock()
	return !r.source.stays
}

// adapt asks for as many rows as fit into a batch.
func (r *Relay) adapt(batch []row) {
	fit := max(maxBytes/max(sizeOf(batch)/len(batch), 1), minRows)
	r.want = min(2*r.want, fit, maxRows)
}

func (r *Relay) longestPoll() time.Duration {
	if r.source.dialect == &postgres {
		return maxQuietPoll
	}
	return maxPoll
}

// inherit reads the notes of the relay before this one. Rows that have been without an
// answer for too long are taken out.
func (r *Relay) inherit(ctx context.Context) bool {
	notes, now, err := r.source.notes(ctx)
	if err == nil {
		r.source.incarnation, err = r.source.readIncarnation(ctx)
	}
	r.health.sourceIs(err)
	if err != nil {
		if ctx.Err() == nil {
			r.Log.Warn("the notes of the outbox can't be read; trying again", "error", err)
		}
		pause.For(ctx, renewEvery)
		return false
	}
	skew := time.Since(now)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.inherited, r.left = map[string]time.Time{}, notes
	r.suspect(notes, skew)
	for _, n := range notes {
		for _, id := range n.ids {
			if at, known := r.inherited[id]; !known || n.sentAt.Add(skew).Before(at) {
				r.inherited[id] = n.sentAt.Add(skew)
			}
		}
	}
	return true
}

// settled forgets the notes of earlier relays whose rows are settled.
func (r *Relay) settled(t *turn) {
	r.mu.Lock()
	for i := range t.answered {
		delete(r.inherited, t.answered[i].id)
	}
	for i := range t.failed {
		delete(r.inherited, t.failed[i].id)
	}
	r.mu.Unlock()
	r.counted(t)
}

// endedNotes returns the notes of earlier relays that are over once rows are settled,
// and forgets them.
func (r *Relay) endedNotes(t *turn, drained bool) {
	if len(r.left) == 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if drained { // rows that come later were not sent, whenever they were created
		r.suspects = nil
	}
	gone := map[string]bool{}
	for i := range t.answered {
		gone[t.answered[i].id] = true
	}
	for i := range t.failed {
		gone[t.failed[i].id] = true
	}
	var left []note
	for _, n := range r.left {
		open := n.lost
		for _, id := range n.ids {
			_, waits := r.inherited[id]
			open = open || waits && !gone[id]
		}
		if open && !drained {
			left = append(left, n)
			continue
		}
		t.ended = append(t.ended, n.id)
	}
	r.left = left
}
