package attempt

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/punctual-dev/punctual/internal/batch"
	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/store"
)

// lastTries is how long a stopping node goes on trying to store an end. What
// is not stored then is made again by whoever takes over.
const lastTries = 5 * time.Second

// finish stores the end of an attempt, however long the store takes to accept
// it, and reports whether the run was still ours. An end that the store refuses
// for what it contains, or that could not be made (failed), is replaced by the
// next of aside. It calls answered as soon as the end has its place among those
// that wait.
func (r *Runner) finish(ctx context.Context, f *store.Finish, failed error, aside func() []store.Finish, answered func()) bool {
	answered = sync.OnceFunc(answered)
	defer answered()
	held := false
	if f != nil {
		held, failed = r.commit(ctx, *f, answered)
	}
	if refused(failed) {
		for _, simpler := range aside() {
			r.noteUnstored(&simpler, failed)
			if held, failed = r.commit(ctx, simpler, answered); !refused(failed) {
				break
			}
		}
	}
	return held && failed == nil
}

// refused reports whether an end is never going to be stored as it is.
func refused(err error) bool {
	return store.IsUnstorable(err) || errors.As(err, new(*fault.PanicError))
}

// noteUnstored notes that the end of a run could not be stored, and is replaced by f.
func (r *Runner) noteUnstored(f *store.Finish, cause error) {
	kind := kindJob
	if f.Kind == store.KindDelivery {
		kind = kindDelivery
	}
	r.Metrics.Unstored(kind)
	r.Log.Error("what an attempt came to can't be stored; it is set aside", "kind", kind, "number", f.Number, "account", f.Account, "error", bounded(cause))
}

// maxCause is how much of an error the log shows, in bytes: a refused value may
// stand in it.
const maxCause = 4096

func bounded(err error) string {
	text := fmt.Sprint(err)
	return text[:min(len(text), maxCause)]
}

// commit stores an end together with others, and tries again while the store is
// away. It returns nil, an error for which the end is refused, or that of a node
// that stops.
func (r *Runner) commit(ctx context.Context, f store.Finish, answered func()) (held bool, err error) {
	var stopping time.Time
	for wait := 20 * time.Millisecond; ; wait = min(2*wait, time.Second) {
		held, err := r.finishes.DoWhenRoom(context.WithoutCancel(ctx), f, answered)
		if err == nil || refused(err) {
			return held, err
		}
		r.logLimited("storing the ends of attempts failed; trying again", err)
		if ctx.Err() != nil && stopping.IsZero() {
			stopping = time.Now()
		}
		if errors.Is(err, batch.ErrClosed) || !stopping.IsZero() && time.Since(stopping) > lastTries {
			return false, err
		}
		time.Sleep(wait)
	}
}

// complainEvery is how often the log tells that ends can't be stored: while the
// store is away, every attempt under way has one.
const logEvery = 5 * time.Second

func (r *Runner) logLimited(what string, err error) {
	now := time.Now().UnixNano()
	last := r.lastLogged.Load()
	if now-last > int64(logEvery) && r.lastLogged.CompareAndSwap(last, now) {
		r.Log.Error(what, "waiting", r.finishes.Len(), "error", err)
	}
}
