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

// lastTries is how long a stopping node keeps trying to store an outcome. An
// attempt whose outcome is not stored then is retried by the node that reclaims
// it.
const lastTries = 5 * time.Second

// finish stores the outcome of an attempt, however long the store takes to
// accept it, and reports whether this node still held the claim. If the store
// refuses f because of its content, or preparing f failed (f is nil, failed the
// error), finish stores the first of aside that the store accepts. It calls
// accepted as soon as the finish has its place in the batcher.
func (r *Runner) finish(ctx context.Context, f *store.Finish, failed error, aside func() []store.Finish, accepted func()) bool {
	accepted = sync.OnceFunc(accepted)
	defer accepted()
	held := false
	if f != nil {
		held, failed = r.commit(ctx, *f, accepted)
	}
	if refused(failed) {
		for _, simpler := range aside() {
			r.noteUnstored(&simpler, failed)
			if held, failed = r.commit(ctx, simpler, accepted); !refused(failed) {
				break
			}
		}
	}
	return held && failed == nil
}

// refused reports whether the store will never accept a finish as it is.
func refused(err error) bool {
	return store.IsUnstorable(err) || errors.As(err, new(*fault.PanicError))
}

// noteUnstored counts and logs that an outcome could not be stored and f
// replaces it.
func (r *Runner) noteUnstored(f *store.Finish, cause error) {
	kind := kindJob
	if f.Kind == store.KindDelivery {
		kind = kindDelivery
	}
	r.Metrics.Unstored(kind)
	r.Log.Error("an attempt's outcome can't be stored; set aside", "kind", kind, "number", f.Number, "account", f.Account, "error",
		bounded(cause))
}

// maxCause bounds how much of an error is logged, in bytes: it may contain the
// refused value.
const maxCause = 4096

func bounded(err error) string {
	text := fmt.Sprint(err)
	return text[:min(len(text), maxCause)]
}

// commit stores a finish together with others and retries while the store is
// away. The error is one for which the store refuses the finish, or the last
// one of a node that stops.
func (r *Runner) commit(ctx context.Context, f store.Finish, accepted func()) (held bool, err error) {
	var stopping time.Time
	for wait := 20 * time.Millisecond; ; wait = min(2*wait, time.Second) {
		held, err := r.finishes.DoWhenRoom(context.WithoutCancel(ctx), f, accepted)
		if err == nil || refused(err) {
			return held, err
		}
		r.logLimited("storing outcomes failed; retrying", err)
		if ctx.Err() != nil && stopping.IsZero() {
			stopping = time.Now()
		}
		if errors.Is(err, batch.ErrClosed) || !stopping.IsZero() && time.Since(stopping) > lastTries {
			return false, err
		}
		time.Sleep(wait)
	}
}

// logEvery is the least time between two log lines about outcomes that can't be
// stored: while the store is away, every attempt under way has one.
const logEvery = 5 * time.Second

func (r *Runner) logLimited(what string, err error) {
	now := time.Now().UnixNano()
	last := r.lastLogged.Load()
	if now-last > int64(logEvery) && r.lastLogged.CompareAndSwap(last, now) {
		r.Log.Error(what, "waiting", r.finishes.Len(), "error", err)
	}
}
