package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/punctual-dev/punctual/internal/app"
	"github.com/punctual-dev/punctual/internal/auth"
	"github.com/punctual-dev/punctual/internal/identity"
	"github.com/punctual-dev/punctual/internal/store"
)

// trial is one run of one workload.
type trial struct {
	*bench
	workload string
	run      int
	result   Result
	target   *target // the bench's, or one of its own

	database database
	service  *service
	closers  []func()
}

// records is what the bench writes to a store itself.
type records interface {
	store.Accounts
	Now() time.Time
	JobInsertMany(ctx context.Context, jobs []store.NewJob) ([]store.Inserted, error)
}

// fill puts accounts and jobs into a store before the service starts.
type fill func(ctx context.Context, s records) error

// start starts the service, on a new database with an account. fills come
// before that. workers is how many requests it makes at once; 0 leaves that to
// it. A service that runs already is taken as it is.
func (t *trial) start(ctx context.Context, workers int, fills ...fill) error {
	if t.BaseURL != "" {
		t.service = &service{api: newAPI(t.BaseURL, t.APIKey, t.Sizes.Clients)}
		t.service.api.keep = true
		return nil
	}
	t.step("preparing the store", 0)
	t.database = t.newDatabase()
	var key string
	account := func(ctx context.Context, s records) (err error) {
		_, key, err = t.newAccount(ctx, s, "main")
		return err
	}
	if err := t.fill(ctx, append([]fill{account}, fills...)...); err != nil {
		return err
	}
	t.database.empty = t.database.bytes()
	t.step("starting the service", 0)
	var err error
	t.service, err = t.startService(ctx, t.database, key, workers)
	return err
}

// fill opens the store, lets it be filled and closes it.
func (t *trial) fill(ctx context.Context, fills ...fill) (err error) {
	s, err := app.OpenStore(ctx, t.database.url, false, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	for _, fill := range fills {
		if err := fill(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

// newAccount makes an account with a key.
func (t *trial) newAccount(ctx context.Context, s records, name string) (*identity.Account, string, error) {
	email := fmt.Sprintf("%s-%s-%d@bench.example", name, t.workload, time.Now().UnixNano())
	a, err := auth.CreateAccount(ctx, s, email, s.Now())
	if err != nil {
		return nil, "", fmt.Errorf("making an account: %w", err)
	}
	key, _, err := auth.CreateKey(ctx, s, a, "bench", s.Now())
	if err != nil {
		return nil, "", fmt.Errorf("making a key: %w", err)
	}
	return a, key, nil
}

// end stops what the trial started.
func (t *trial) end(ctx context.Context) error {
	t.result.Protocol = t.target.spoken()
	t.target.forget()
	t.bench.target.forget()
	for _, closer := range t.closers {
		closer()
	}
	err := t.stopService(ctx)
	if t.database.file != "" {
		for _, suffix := range []string{"", "-wal", "-shm", ".lock", ".numbers"} {
			_ = os.Remove(t.database.file + suffix) // the directory is removed in the end
		}
	}
	return err
}

// stopService stops the service, if it is the bench's own and still there; of
// another one it cancels the jobs that are left.
func (t *trial) stopService(ctx context.Context) (err error) {
	s := t.service
	t.service = nil
	switch {
	case s == nil:
		return nil
	case s.process == nil:
		t.step("cancelling the jobs that are left", 0)
		// Also after an interruption, but then not for long.
		limit := time.Hour
		if ctx.Err() != nil {
			limit = stopLimit
		}
		ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), limit)
		defer stop()
		err = s.api.cancelAll(ctx, t.Sizes.Clients)
	case ctx.Err() != nil:
		s.kill() // its database goes anyway
	default:
		if err = s.stop(); err != nil {
			err = fmt.Errorf("the service did not stop as it should: %w", err)
		}
	}
	s.api.close()
	return err
}

// alive returns the error when the service has ended.
func (t *trial) alive() error {
	if t.service == nil || t.service.process == nil {
		return nil
	}
	select {
	case <-t.service.ended:
		return fmt.Errorf("%w%s", errGone, t.service.errors.said())
	default:
		return nil
	}
}

// problem notes that something was not as promised.
func (t *trial) problem(format string, args ...any) {
	t.result.Problems = append(t.result.Problems, fmt.Sprintf(format, args...))
}

func (t *trial) note(format string, args ...any) {
	t.result.Notes = append(t.result.Notes, fmt.Sprintf(format, args...))
}

func (t *trial) figure(f Figure) { t.result.Figures = append(t.result.Figures, f) }

// latency adds a distribution of times, and returns it under a workload's name.
func (t *trial) latency(name string, ms []float64) Curve {
	c := newCurve(name, ms)
	t.result.Latencies = append(t.result.Latencies, c)
	return c
}

// late says how the figures of a lateness are shown.
type late struct {
	prefix, label string
	against       string // the figures it is held against, without p50 and so on
	p50, p99      string // marks
	shown         shown
}

// shown says which figures of a lateness stand in the table.
type shown int

const (
	showMost shown = iota // all but the 90th percentile
	showAll
	showNone
)

// lateFigures adds the figures of a lateness.
func (t *trial) lateFigures(l late, c Curve) {
	for _, f := range []Figure{
		{Name: "p50", Label: "p50", Value: c.at(0.5), Mark: l.p50},
		{Name: "p90", Label: "p90", Value: c.at(0.9), Detail: l.shown == showMost},
		{Name: "p99", Label: "p99", Value: c.at(0.99), Mark: l.p99},
		{Name: "max", Label: "longest", Value: c.at(1)},
	} {
		if l.against != "" {
			f.Against = l.against + f.Name
		}
		f.Name, f.Label, f.Unit = l.prefix+f.Name, l.label+", "+f.Label, "ms"
		f.Detail = f.Detail || l.shown == showNone
		t.figure(f)
	}
}

// await waits until as many different jobs of a round have arrived.
func (t *trial) await(ctx context.Context, r *round, want int, end time.Time) error {
	var gone error
	_, err := until(ctx, end, func() bool {
		gone = t.alive()
		return gone != nil || r.distinct.Load() >= int64(want)
	})
	return errors.Join(gone, err)
}

// patience is how long after their due time n jobs are waited for.
func patience(n int) time.Duration {
	return time.Minute + time.Duration(n)*5*time.Millisecond
}

// settle waits until the service has recorded n jobs more as completed than before. A
// service that runs already may have other nodes, whose counts are not in the vitals of
// this one: it has settled too when none of the account's jobs is executing.
func (t *trial) settle(ctx context.Context, before vitals, n int) (vitals, error) {
	var now vitals
	var failed error
	settled, err := until(ctx, time.Now().Add(patience(n)), func() bool {
		if now, failed = t.service.api.vitals(ctx); failed != nil || now.completed-before.completed >= float64(n) {
			return true
		}
		if t.BaseURL == "" {
			return false
		}
		var executing int
		executing, failed = t.service.api.executing(ctx)
		return failed != nil || executing == 0
	})
	if err = errors.Join(failed, err); err == nil && !settled {
		t.problem("of %s jobs that were fired %s are recorded as completed", thousands(n), thousands(int(now.completed-before.completed)))
	}
	return now, err
}
