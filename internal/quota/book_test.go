package quota

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/identity"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/store"
)

// scale is a store that measures accounts.
type scale struct {
	store.Quotas
	bytes  int64         // of each page
	pages  int           // of an account
	takes  time.Duration // how long a page takes
	err    error
	reads  atomic.Int64
	atOnce atomic.Int64
}

func (s *scale) AccountBytes(ctx context.Context, _ int64, from store.ByteCursor, _ int) (int64, *store.ByteCursor, error) {
	if s.atOnce.Add(1) > 1 {
		panic("two samples at once")
	}
	defer s.atOnce.Add(-1)
	s.reads.Add(1)
	select {
	case <-time.After(s.takes):
	case <-ctx.Done():
		return 0, nil, ctx.Err()
	}
	if s.err != nil {
		return 0, nil, s.err
	}
	if from.Number++; int(from.Number) == s.pages {
		return s.bytes, nil, nil
	}
	return s.bytes, &from, nil
}

func book(s *scale, stored int64) *Book {
	return NewBook(Config{
		Store: s, Now: time.Now, Log: slog.New(slog.DiscardHandler), Defaults: Defaults{Stored: &stored, Rate: 5},
		Account: func(_ context.Context, number int64) (*identity.Account, error) {
			a := &identity.Account{Owner: job.Owner{Number: number}}
			if number == 13 {
				a.SuspendedAt, a.SuspendedFor = time.Now(), "spam"
			}
			return a, nil
		},
	})
}

// full reports whether an account may store no more.
func full(t *testing.T, b *Book, account int64) bool {
	t.Helper()
	_, caps, err := b.Admit(t.Context(), account)
	if err != nil {
		t.Fatal(err)
	}
	return caps.Full
}

func TestBook_RenewsSamples(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &scale{bytes: 30, pages: 3, takes: time.Millisecond}
		b := book(s, 100)
		defer b.Close()
		if full(t, b, 1) {
			t.Error("90 of 100 bytes are too many")
		}
		b.Added(1, 10)
		if full(t, b, 1) {
			t.Error("100 of 100 bytes are too many")
		}
		b.Added(1, 1)
		if !full(t, b, 1) {
			t.Error("what was stored since the sample is not counted")
		}
		if s.reads.Load() != 3 {
			t.Errorf("%d reads", s.reads.Load())
		}
		time.Sleep(sampledEvery)
		full(t, b, 1)
		synctest.Wait()
		time.Sleep(time.Second)
		if full(t, b, 1) {
			t.Error("an old sample is relied on")
		}
	})
}

func TestBook_SampleStopsAboveTheLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &scale{bytes: 30, pages: 1000}
		b := book(s, 100)
		defer b.Close()
		if !full(t, b, 1) || s.reads.Load() != 4 {
			t.Errorf("after %d reads the account has room", s.reads.Load())
		}
	})
}

func TestBook_SlowSampleDelaysACreateForASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := book(&scale{bytes: 200, pages: 1, takes: time.Minute}, 100)
		began := time.Now()
		if full(t, b, 1) || time.Since(began) != sampleWait {
			t.Errorf("a create waited for %v", time.Since(began))
		}
		b.Added(1, 5)
		u, err := b.usage(t.Context(), 1, 100)
		if err != nil || !u.SampledAt.IsZero() {
			t.Errorf("before the sample: %+v, %v", u, err)
		}
		time.Sleep(time.Hour)
		if !full(t, b, 1) {
			t.Error("the sample is not known")
		}
		if u, err = b.usage(t.Context(), 1, 100); err != nil || u.Stored != 205 {
			t.Errorf("after the sample: %+v, %v", u, err)
		}
		b.Close() // ends the next sample
	})
}

func TestBook_FailedSamplePermits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &scale{err: errors.New("broken on purpose")}
		b := book(s, 100)
		defer b.Close()
		for range 5 {
			if full(t, b, 1) {
				t.Error("an account is refused because it could not be measured")
			}
		}
		if s.reads.Load() != 1 {
			t.Errorf("%d tries", s.reads.Load())
		}
	})
}

func TestBook_BoundsSamples(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := book(&scale{bytes: 1, pages: 1}, 100)
		defer b.Close()
		for account := range int64(maxSamples + 100) {
			full(t, b, 1000+account)
		}
		if n := len(b.samples); n > maxSamples {
			t.Errorf("%d accounts are remembered", n)
		}
	})
}

func TestAdmit_RefusesASuspendedAccount(t *testing.T) {
	b := book(&scale{}, 0)
	defer b.Close()
	_, _, err := b.Admit(t.Context(), 13)
	want := "this account is suspended (spam): none of its jobs run and nothing can be changed; ask the operator of this service to resume it"
	if fault.CodeOf(err) != fault.Forbidden || err.Error() != want {
		t.Errorf("a suspended account: %v", err)
	}
}

func (s *scale) AccountUse(context.Context, int64, int64) (store.Use, error) { return store.Use{}, nil }

// usage returns the usage of an account with a limit of stored bytes.
func (b *Book) usage(ctx context.Context, account, stored int64) (Usage, error) {
	return b.Usage(ctx, account, Limits{Stored: stored})
}
