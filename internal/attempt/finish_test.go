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

// picky is a queue that refuses ends which store a given text, and is away for
// some calls.
type picky struct {
	store.Queue
	mu      sync.Mutex
	away    int
	refuses []string
	calls   int
	stored  map[int64]string // by run: what its end came to
}

func (p *picky) Now() time.Time { return time.Now() }

func (p *picky) QueueFinish(_ context.Context, runs []store.Finish) ([]bool, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	time.Sleep(time.Millisecond) // so that others come meanwhile
	p.calls++
	if p.away > 0 {
		p.away--
		return nil, fault.Unreachable(errors.New("away"))
	}
	came := map[int64]string{}
	for _, f := range runs {
		came[f.Number] = show(&f)
		for _, text := range p.refuses {
			if strings.Contains(came[f.Number], text) {
				return nil, store.Unstorable(errors.New(strings.Repeat("too large ", 1000)))
			}
		}
	}
	for number, text := range came {
		p.stored[number] = text
	}
	return slices.Repeat([]bool{true}, len(runs)), nil
}

// show tells what an end comes to: the job's state and its logs.
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

func run(number int64) *store.QueueItem {
	now := time.Now()
	j := &job.Job{
		Number: number, ID: uuid.New(), Owner: job.Owner{ID: uuid.New(), Number: number % 3}, State: job.Available,
		InsertedAt: now, ScheduledAt: now, DueAt: now, Args: rawjson.Value(`{"url":"https://x","callback_url":"https://y"}`),
	}
	return &store.QueueItem{QueueKey: store.QueueKey{ItemID: store.ItemID{Number: number}, Due: now, Account: number % 3}, Job: j}
}

// runner makes a Runner on a queue, and returns what it logs.
func runner(t *testing.T, queue store.Queue) (*Runner, *bytes.Buffer) {
	var out bytes.Buffer
	r := New(Config{Queue: queue, Metrics: metrics.New("test"), Log: slog.New(slog.NewTextHandler(&out, nil))})
	t.Cleanup(r.Close)
	return r, &out
}

// end stores the end of a run's attempt, whose target has answered with a text.
func (r *Runner) end(ctx context.Context, number int64, text string) (held, freed bool) {
	a := &jobAttempt{runner: r, Attempt: lifecycle.Begin(run(number), time.Now())}
	began := time.Now()
	f := a.Finish(1, job.Outcome{Response: &job.Response{Status: 200, Body: []byte(text)}}, began, began)
	held = r.finish(ctx, &f, nil, func() []store.Finish { return a.Unstored(1, began, began) }, func() { freed = true })
	return held, freed
}

func TestAnEndThatIsRefusedIsSetAside(t *testing.T) {
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
					t.Errorf("run %d: held %t, its slot freed %t", n, held, freed)
				}
			})
		}
		wg.Wait()
		for n, got := range queue.stored {
			want := `completed {"status":200,"headers":{},"body":"fine"`
			if n == 17 {
				want = `discarded {"kind":"unstored","message":"what the attempt came to could not be stored`
			}
			if !strings.HasPrefix(got, want) {
				t.Errorf("run %d came to %s", n, got)
			}
		}
		if len(queue.stored) != 40 || queue.calls > 20 {
			t.Errorf("%d ends stored in %d calls", len(queue.stored), queue.calls)
		}
		if said := out.String(); strings.Count(said, "set aside") != 1 || len(said) > maxCause+1000 {
			t.Errorf("logged %d bytes:\n%.500s", len(said), said)
		}
	})
}

func TestAnEndThatCannotEvenBeSetAsideLeavesTheQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		queue := &picky{refuses: []string{"completed", "discarded"}, stored: map[int64]string{}}
		r, _ := runner(t, queue)
		if held, freed := r.end(t.Context(), 1, "any"); !held || !freed || queue.stored[1] != "gone" || queue.calls != 4 {
			t.Errorf("held %t, freed %t, came to %q in %d calls", held, freed, queue.stored[1], queue.calls)
		}
	})
}

func TestAnOutageIsNoReasonToSetAside(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		queue := &picky{away: 30, stored: map[int64]string{}}
		r, out := runner(t, queue)
		if held, _ := r.end(t.Context(), 1, "fine"); !held || !strings.HasPrefix(queue.stored[1], "completed") || queue.calls != 31 {
			t.Errorf("held %t, came to %q in %d calls", held, queue.stored[1], queue.calls)
		}
		if strings.Contains(out.String(), "set aside") {
			t.Errorf("logged:\n%s", out)
		}
	})
}

func TestAnAttemptThatPanicsEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		queue := &picky{stored: map[int64]string{}}
		r, _ := runner(t, queue)
		a := &jobAttempt{runner: r, Attempt: lifecycle.Begin(run(1), time.Now())}
		freed := false
		a.Fire(t.Context(), 1, time.Now(), func(int64) { freed = true }) // there is no client to make it with
		if !strings.HasPrefix(queue.stored[1], `discarded {"kind":"internal"`) || !freed || a.Result != job.Discarded {
			t.Errorf("came to %q, freed %t, %s", queue.stored[1], freed, a.Result)
		}
	})
}

// shelf has one log.
type shelf struct{ log job.Log }

func (s shelf) LogGet(_ context.Context, _ job.Owner, id uuid.UUID) (*job.Log, error) {
	if id != s.log.ID {
		return nil, fault.NoSuch("log")
	}
	return &s.log, nil
}

func TestAMessageWithoutItsLogsFailsAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		queue := &picky{stored: map[int64]string{}}
		r, _ := runner(t, queue)
		log := job.Log{ID: uuid.New(), Payload: rawjson.Value(`{"a":1}`)}
		r.Logs = shelf{log}
		for what, parts := range map[string][]job.Part{
			"a log that is gone": {{At: 1, Log: uuid.New(), From: 1, To: 2}}, "more than the log has": {{At: 1, Log: log.ID, From: 1, To: 90}},
			"damaged": job.KeptParts("?"),
		} {
			a := &deliveryAttempt{runner: r, run: &store.QueueItem{
				QueueKey: store.QueueKey{ItemID: store.ItemID{Kind: store.KindDelivery, Number: 4}},
				Delivery: &job.Delivery{Number: 4, Channel: job.Callback, URL: "https://y", Body: rawjson.Value(`{}`), Parts: parts},
			}}
			if o := a.send(t.Context()); o.Failure == nil || o.Failure.Kind != job.KindUnstored {
				t.Errorf("%s: %+v", what, o)
			}
			if r.messages.used != 0 {
				t.Errorf("%s: %d bytes were not given back", what, r.messages.used)
			}
		}
	})
}
