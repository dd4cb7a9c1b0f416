package quota

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/identity"
	"github.com/punctual-dev/punctual/internal/store"
)

// Config configures a Book.
type Config struct {
	Store store.Quotas
	// Account reads an account. The result may be a second old.
	Account  func(ctx context.Context, number int64) (*identity.Account, error)
	Public   int64 // number of the account of the public key; 0 for none
	Defaults Defaults
	Now      func() time.Time
	Log      *slog.Logger
}

// Book resolves the limits of accounts and samples how many bytes they store.
type Book struct {
	Config
	ctx    context.Context // of samples under way
	cancel context.CancelFunc
	wg     sync.WaitGroup
	slot   chan struct{} // held by the sample under way

	mu      sync.Mutex
	samples map[int64]*sample
}

const (
	// sampledEvery is the age after which the account's next create renews a
	// sample.
	sampledEvery = 30 * time.Second
	// sampleWait is how long a create waits for the first sample of its account.
	sampleWait = time.Second
	// sampleRows is how many records one query adds up, so that other readers don't
	// wait long.
	sampleRows = 1000
	// maxSamples bounds the number of samples.
	maxSamples = 10_000
)

// sample is the number of bytes that an account stores, as last measured.
type sample struct {
	ready chan struct{} // closed when there is a first result
	under bool          // one is being taken
	known bool
	bytes int64 // as sampled, and what this node has stored since
	added int64 // stored by this node since the sample under way began
	at    time.Time
}

// NewBook returns a Book. The caller must Close it.
func NewBook(config Config) *Book {
	b := &Book{Config: config, slot: make(chan struct{}, 1), samples: map[int64]*sample{}}
	b.ctx, b.cancel = context.WithCancel(context.Background())
	return b
}

// Close cancels the samples under way.
func (b *Book) Close() {
	b.cancel()
	b.wg.Wait()
}

// Limits returns the limits of an account.
func (b *Book) Limits(ctx context.Context, account int64) (Limits, error) {
	a, err := b.Account(ctx, account)
	if err != nil {
		return Limits{}, err
	}
	return b.Defaults.Of(a, account == b.Public), nil
}

// SetLimits replaces the limits of an account. It returns a NotFound fault if
// there is no such account. They apply once Account returns them.
func (b *Book) SetLimits(ctx context.Context, account int64, limits identity.Overrides) error {
	return b.Store.AccountLimit(ctx, account, limits)
}

// Admit returns the limits of an account that wants to store more, and the caps
// that the store must check. It returns a Forbidden fault if the account is
// suspended.
func (b *Book) Admit(ctx context.Context, account int64) (Limits, store.Caps, error) {
	a, err := b.Account(ctx, account)
	if err != nil {
		return Limits{}, store.Caps{}, err
	}
	if err := Suspended(a); err != nil {
		return Limits{}, store.Caps{}, err
	}
	l := b.Defaults.Of(a, account == b.Public)
	full := l.Stored > 0 && b.stored(ctx, account, l.Stored) > l.Stored
	return l, store.Caps{Pending: l.Pending, Schedules: l.Schedules, Full: full}, nil
}

// AdmitJobs returns a fault if an account can't store so many more one-off jobs. Unlike
// with the caps of Admit, calls at the same time don't see each other.
func (b *Book) AdmitJobs(ctx context.Context, account int64, jobs int) error {
	l, caps, err := b.Admit(ctx, account)
	switch {
	case err != nil:
		return err
	case caps.Full:
		return l.Exceeded(store.QuotaStored)
	case l.Pending == 0:
		return nil
	}
	use, err := b.Store.AccountUse(ctx, account, l.Pending)
	if err == nil && use.Pending+int64(jobs) > l.Pending {
		err = l.Exceeded(store.QuotaPending)
	}
	return err
}

// Suspended returns a Forbidden fault for a suspended account, else nil.
func Suspended(a *identity.Account) error {
	if a.SuspendedAt.IsZero() {
		return nil
	}
	why := ""
	if a.SuspendedFor != "" {
		why = " (" + a.SuspendedFor + ")"
	}
	return fault.New(fault.Forbidden, "this account is suspended"+why+
		": none of its jobs run and nothing can be changed; ask the operator of this service to resume it")
}

// Added adds bytes that were stored for an account to its current sample.
func (b *Book) Added(account int64, bytes int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if s := b.samples[account]; s != nil {
		s.bytes += int64(bytes)
		s.added += int64(bytes)
	}
}

// stored returns how many bytes an account stores, as sampled. If it stores more
// than most, the result may be any number above most. If the first sample takes
// too long, the result is 0.
func (b *Book) stored(ctx context.Context, account, most int64) int64 {
	s := b.sample(account, most)
	select {
	case <-s.ready:
	default:
		timer := time.NewTimer(sampleWait)
		defer timer.Stop()
		select {
		case <-s.ready:
		case <-timer.C:
		case <-ctx.Done():
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return s.bytes
}

// Usage is an account's usage of its limits.
type Usage struct {
	store.Use
	Stored    int64     // bytes of records, as sampled
	SampledAt time.Time // zero if unknown, as for accounts without a limit
}

// Counted bounds the counts in a Usage, unless the account's limit is higher.
const Counted = 1000

// Usage returns an account's usage of its limits.
func (b *Book) Usage(ctx context.Context, account int64, l Limits) (u Usage, err error) {
	if u.Use, err = b.Store.AccountUse(ctx, account, max(Counted, l.Pending, l.Schedules)); err != nil || l.Stored == 0 {
		return u, err
	}
	b.stored(ctx, account, l.Stored)
	b.mu.Lock()
	defer b.mu.Unlock()
	if s := b.samples[account]; s != nil && s.known {
		u.Stored, u.SampledAt = s.bytes, s.at
	}
	return u, nil
}

// sample returns the sample of an account, and starts to renew it if it is old.
func (b *Book) sample(account, most int64) *sample {
	now := b.Now()
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.samples[account]
	if s == nil {
		if len(b.samples) >= maxSamples {
			b.forget(now)
		}
		s = &sample{ready: make(chan struct{})}
		b.samples[account] = s
	}
	if !s.under && now.Sub(s.at).Abs() >= sampledEvery && b.ctx.Err() == nil {
		s.under, s.added = true, 0
		b.wg.Go(func() { b.take(account, most, s) })
	}
	return s
}

// forget makes room for other samples: it deletes old ones, or else an arbitrary
// one.
func (b *Book) forget(now time.Time) {
	for account, s := range b.samples {
		if !s.under && now.Sub(s.at).Abs() >= sampledEvery {
			delete(b.samples, account)
		}
	}
	for account, s := range b.samples {
		if len(b.samples) < maxSamples {
			return
		}
		if !s.under {
			delete(b.samples, account)
		}
	}
}

// take samples an account.
func (b *Book) take(account, most int64, s *sample) {
	var bytes int64
	var err error
	select {
	case b.slot <- struct{}{}:
		bytes, err = b.measure(account, most)
		<-b.slot
	case <-b.ctx.Done():
		err = b.ctx.Err()
	}
	if err != nil && b.ctx.Err() == nil {
		b.Log.Warn("measuring what an account stores failed", "error", err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	s.under, s.at = false, b.Now()
	if err == nil {
		s.bytes, s.known = bytes+s.added, true
	}
	select {
	case <-s.ready:
	default:
		close(s.ready)
	}
}

// measure adds up the bytes that an account stores and stops above most.
func (b *Book) measure(account, most int64) (total int64, err error) {
	for cursor := (&store.ByteCursor{}); cursor != nil && total <= most; {
		var bytes int64
		if bytes, cursor, err = b.Store.AccountBytes(b.ctx, account, *cursor, sampleRows); err != nil {
			return 0, err
		}
		total += bytes
	}
	return total, nil
}
