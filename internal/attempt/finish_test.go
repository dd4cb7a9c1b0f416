package attempt

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/lifecycle"
	"github.com/punctual-dev/punctual/internal/metrics"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/store"
)

// picky is a queue that refuses outcomes containing a given text, and is away
// for some calls.
type picky struct {
	store.Queue
	mu      sync.Mutex
	away    int
	refuses []string
	calls   int
	stored  map[int64]string // by item number: the stored outcome
}

func (p *picky) Now() time.Time { return time.Now() }

func (p *picky) QueueFinish(_ context.Context, items []store.Finish) ([]bool, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	time.Sleep(time.Millisecond) // so that others form the next batch
	p.calls++
	if p.away > 0 {
		p.away--
		return nil, fault.Unreachable(errors.New("away"))
	}
	stored := map[int64]string{}
	for _, f := range items {
		stored[f.Number] = show(&f)
		for _, text := range p.refuses {
			if strings.Contains(stored[f.Number], text) {
				return nil, store.Unstorable(errors.New(strings.Repeat("too large ", 1000)))
			}
		}
	}
	for number, text := range stored {
		p.stored[number] = text
	}
	return slices.Repeat([]bool{true}, len(items)), nil
}

// show describes a finish: the job's state and its logs.
func show(f *store.Finish) string {
	if f.Delivery != nil {
		if f.Delivery.Log == nil {
			return "gone"
		}
		return "given up " + string(f.Delivery.Log.Payload)
	}
	c := f.Decide(&store.Snapshot{Now: time.Now(), Job: f.Job})
	if c.Job == nil {
		return "gone"
	}
	var b strings.Builder
	fmt.Fprint(&b, c.Job.State)
	for _, l := range c.Logs {
		fmt.Fprintf(&b, " %s", l.Payload)
	}
	return b.String()
}

func queueItem(number int64) *store.QueueItem {
	now := time.Now()
	j := &job.Job{
		Number: number, ID: uuid.New(), Owner: job.Owner{ID: uuid.New(), Number: number % 3}, State: job.Available,
		InsertedAt: now, ScheduledAt: now, DueAt: now, Args: rawjson.Value(`{"url":"https://x","callback_url":"https://y"}`),
	}
	return &store.QueueItem{QueueKey: store.QueueKey{ItemID: store.ItemID{Number: number}, Due: now, Account: number % 3}, Job: j}
}

// runner returns a Runner on a queue, and its log output.
func runner(t *testing.T, queue store.Queue) (*Runner, *bytes.Buffer) {
	var out bytes.Buffer
	r := New(Config{Queue: queue, Metrics: metrics.New("test"), Log: slog.New(slog.NewTextHandler(&out, nil))})
	t.Cleanup(r.Close)
	return r, &out
}

// end stores the outcome of an item's attempt whose target responded with a
// text.
func (r *Runner) end(ctx context.Context, number int64, text string) (held, freed bool) {
	a := &jobAttempt{runner: r, Attempt: lifecycle.Begin(queueItem(number), time.Now(), nil)}
	began := time.Now()
	f := a.Finish(1, job.Outcome{Response: &job.Response{Status: 200, Body: []byte(text)}}, lifecycle.Span{Began: began, Ended: began})
	held = r.finish(ctx, &f, nil, func() []store.Finish { return a.Unstored(1, lifecycle.Span{Began: began, Ended: began}) },
		func() { freed = true })
	return held, freed
}

func TestFinish_SetsAsideARefusedOutcome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		queue := &picky{refuses: []string{"poison"}, stored: map[int64]string{}}
		r, out := runner(t, queue)
		var wg sync.WaitGroup
		for n := range int64(40) {
			text := "fine"
			if n == 17 {
				text = "poison"
			}
			wg.Go(func() {
				if held, freed := r.end(t.Context(), n, text); !held || !freed {
					t.Errorf("item %d: held %t, its slot freed %t", n, held, freed)
				}
			})
		}
		wg.Wait()
		for n, got := range queue.stored {
			want := `completed {"status":200,"headers":{},"body":"fine"`
			if n == 17 {
				want = `discarded {"kind":"unstored","message":"the outcome of the attempt could not be stored`
			}
			if !strings.HasPrefix(got, want) {
				t.Errorf("item %d: stored %s", n, got)
			}
		}
		if len(queue.stored) != 40 || queue.calls > 20 {
			t.Errorf("%d outcomes stored in %d calls", len(queue.stored), queue.calls)
		}
		if said := out.String(); strings.Count(said, "set aside") != 1 || len(said) > maxCause+1000 {
			t.Errorf("logged %d bytes:\n%.500s", len(said), said)
		}
	})
}

func TestFinish_RemovesAnItemThatCannotBeSetAside(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		queue := &picky{refuses: []string{"completed", "discarded"}, stored: map[int64]string{}}
		r, _ := runner(t, queue)
		if held, freed := r.end(t.Context(), 1, "any"); !held || !freed || queue.stored[1] != "gone" || queue.calls != 4 {
			t.Errorf("held %t, freed %t, stored %q in %d calls", held, freed, queue.stored[1], queue.calls)
		}
	})
}

func TestFinish_RetriesInAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		queue := &picky{away: 30, stored: map[int64]string{}}
		r, out := runner(t, queue)
		if held, _ := r.end(t.Context(), 1, "fine"); !held || !strings.HasPrefix(queue.stored[1], "completed") || queue.calls != 31 {
			t.Errorf("held %t, stored %q in %d calls", held, queue.stored[1], queue.calls)
		}
		if strings.Contains(out.String(), "set aside") {
			t.Errorf("logged:\n%s", out)
		}
	})
}

func TestFire_StoresAFailureAfterAPanic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		queue := &picky{stored: map[int64]string{}}
		r, _ := runner(t, queue)
		a := &jobAttempt{runner: r, Attempt: lifecycle.Begin(queueItem(1), time.Now(), nil)}
		freed := false
		a.Fire(t.Context(), 1, time.Now(), func() bool { return true }, func(int64) { freed = true }) // panics: there is no client
		if !strings.HasPrefix(queue.stored[1], `discarded {"kind":"internal"`) || !freed || a.Result != job.Discarded {
			t.Errorf("stored %q, freed %t, %s", queue.stored[1], freed, a.Result)
		}
	})
}

// oneLog is a store with one log.
type oneLog struct{ log job.Log }

func (oneLog) JobTrail(context.Context, job.Owner, int64, int) (*job.Trail, error) {
	return &job.Trail{}, nil
}

func (s oneLog) LogGet(_ context.Context, _ job.Owner, id uuid.UUID) (*job.Log, error) {
	if id != s.log.ID {
		return nil, fault.NoSuch("log")
	}
	return &s.log, nil
}

func TestSend_FailsWhenALogIsMissing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		queue := &picky{stored: map[int64]string{}}
		r, _ := runner(t, queue)
		log := job.Log{ID: uuid.New(), Payload: rawjson.Value(`{"a":1}`)}
		r.Logs = oneLog{log}
		for what, parts := range map[string][]job.Part{
			"a missing log": {{At: 1, Log: uuid.New(), From: 1, To: 2}}, "more than the log has": {{At: 1, Log: log.ID, From: 1, To: 90}},
			"damaged": job.KeptParts("?"),
		} {
			a := &deliveryAttempt{runner: r, item: &store.QueueItem{
				QueueKey: store.QueueKey{ItemID: store.ItemID{Kind: store.KindDelivery, Number: 4}},
				Delivery: &job.Delivery{Number: 4, Channel: job.Callback, URL: "https://y", Body: rawjson.Value(`{}`), Parts: parts},
			}}
			if o := a.send(t.Context(), func() bool { return true }); o.Failure == nil || o.Failure.Kind != job.KindUnstored {
				t.Errorf("%s: %+v", what, o)
			}
			if r.messages.used != 0 {
				t.Errorf("%s: %d bytes were not returned", what, r.messages.used)
			}
		}
	})
}
