package bench

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"
)

// loadOrder asks the load, a process of its own, to create jobs. It is a line of
// JSON, and as many loadJobs as it says follow, a line each. The load answers
// with loadReports: some that tell how far it is, and a last one.
type loadOrder struct {
	URL     string `json:"url"` // of the service
	Key     string `json:"key"`
	Clients int    `json:"clients"` // connections
	Batch   int    `json:"batch"`   // jobs a request; 0: one, by the call for single jobs
	Keep    bool   `json:"keep"`    // tell the paths of the jobs
	Jobs    int    `json:"jobs"`
}

// loadJob is a planned job. Times are in microseconds since 1970.
type loadJob struct {
	Number  int64  `json:"n"`
	Due     int64  `json:"due"`
	Create  int64  `json:"create,omitempty"` // 0: at once
	URL     string `json:"url"`
	Options string `json:"options,omitempty"`
	Body    int    `json:"body,omitempty"`
}

type loadReport struct {
	Done      int64    `json:"done"`
	Last      bool     `json:"last,omitempty"` // only the last one reports what follows
	Calls     Curve    `json:"calls"`
	PerSecond float64  `json:"per_second,omitempty"` // jobs
	Ended     int64    `json:"ended,omitempty"`      // when the last response arrived, in microseconds since 1970
	CPU       int64    `json:"cpu,omitempty"`        // nanoseconds of processor time
	Paths     []string `json:"paths,omitempty"`      // of jobs, with Keep, also when it failed
	Error     string   `json:"error,omitempty"`
}

// loadTells is how often the load tells how far it is.
const loadTells = 100 * time.Millisecond

func (p *planned) wire() loadJob {
	j := loadJob{Number: p.number, Due: p.due.UnixMicro(), URL: p.url, Options: p.options, Body: p.body}
	if !p.create.IsZero() {
		j.Create = p.create.UnixMicro()
	}
	return j
}

func (j *loadJob) planned() planned {
	p := planned{number: j.Number, due: time.UnixMicro(j.Due), url: j.URL, options: j.Options, body: j.Body}
	if j.Create != 0 {
		p.create = time.UnixMicro(j.Create)
	}
	return p
}

// writeOrder writes an order with its jobs.
func writeOrder(out io.Writer, o loadOrder, jobs []planned) error {
	buffered := bufio.NewWriterSize(out, 64<<10)
	lines := json.NewEncoder(buffered)
	o.Jobs = len(jobs)
	if err := lines.Encode(o); err != nil {
		return err
	}
	for i := range jobs {
		if err := lines.Encode(jobs[i].wire()); err != nil {
			return err
		}
	}
	return buffered.Flush()
}

// loadWork is an order that has been read.
type loadWork struct {
	loadOrder
	jobs []planned
}

func readOrder(lines *json.Decoder) (*loadWork, error) {
	work := &loadWork{}
	if err := lines.Decode(&work.loadOrder); err != nil {
		return nil, err
	}
	for range work.Jobs {
		var j loadJob
		if err := lines.Decode(&j); err != nil {
			return nil, err
		}
		work.jobs = append(work.jobs, j.planned())
	}
	return work, nil
}

// runLoad carries out orders, one after the other. When its input ends in the
// middle of one, it breaks that off and still reports what it has created.
func runLoad(ctx context.Context, in io.Reader, out io.Writer) error {
	if _, err := fmt.Fprintln(out, "ready"); err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	orders, failed := make(chan *loadWork), make(chan error, 1)
	go func() {
		defer stop()
		defer close(orders)
		lines := json.NewDecoder(bufio.NewReaderSize(in, 64<<10))
		for {
			work, err := readOrder(lines)
			if err != nil {
				failed <- err
				return
			}
			orders <- work
		}
	}()
	for work := range orders {
		if err := work.carryOut(ctx, out); err != nil {
			return err
		}
		if ctx.Err() != nil {
			return nil // the reader ends with the process
		}
	}
	if err := <-failed; !errors.Is(err, io.EOF) {
		return fmt.Errorf("an order that can't be read: %w", err)
	}
	return nil
}

// carryOut creates the jobs and tells how far it is, and in the end what it came to.
func (w *loadWork) carryOut(ctx context.Context, out io.Writer) error {
	a := newAPI(w.URL, w.Key, w.Clients)
	a.keep = w.Keep
	defer a.close()
	var done atomic.Int64
	ended := make(chan loadReport, 1)
	go func() { ended <- w.create(ctx, a, &done) }()
	ticker := time.NewTicker(loadTells)
	defer ticker.Stop()
	lines := json.NewEncoder(out)
	for {
		select {
		case report := <-ended:
			return lines.Encode(report)
		case <-ticker.C:
			if err := lines.Encode(loadReport{Done: done.Load()}); err != nil {
				return err
			}
		}
	}
}

func (w *loadWork) create(ctx context.Context, a *api, done *atomic.Int64) loadReport {
	cpu := processorTime()
	made, err := createAll(ctx, a, w.jobs, w.Batch, w.Clients, done)
	report := loadReport{Last: true, Done: done.Load(), CPU: int64(processorTime() - cpu), Paths: a.pending}
	if err != nil {
		report.Error = err.Error()
		return report
	}
	report.Calls, report.PerSecond, report.Ended = newCurve("calls", made.calls), made.perSecond, made.last.UnixMicro()
	return report
}

// made is what creating jobs came to.
type made struct {
	calls     []float64 // milliseconds, each call
	perSecond float64
	last      time.Time // when the last response arrived
}

// createAll creates jobs over a number of connections, each at its time. batch
// is how many a request has; with 0 each is created by the call for single jobs.
func createAll(ctx context.Context, a *api, jobs []planned, batch, clients int, done *atomic.Int64) (*made, error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	start, size := time.Now(), max(batch, 1)
	result := &made{calls: make([]float64, (len(jobs)+size-1)/size)}
	var next atomic.Int64
	var wait sync.WaitGroup
	for range min(clients, len(result.calls)) {
		wait.Go(func() {
			var body []byte
			for i := int(next.Add(1)) - 1; i < len(result.calls) && ctx.Err() == nil; i = int(next.Add(1)) - 1 {
				some := jobs[i*size : min(len(jobs), (i+1)*size)]
				if at := some[0].create; !at.IsZero() && sleepUntil(ctx, at) != nil {
					return
				}
				body = appendCall(body[:0], some, batch > 0)
				began := time.Now()
				if err := a.createSome(ctx, body, batch > 0); err != nil {
					stop(err)
					return
				}
				result.calls[i] = float64(time.Since(began)) / float64(time.Millisecond)
				done.Add(int64(len(some)))
			}
		})
	}
	wait.Wait()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	result.last = time.Now()
	result.perSecond = float64(len(jobs)) / result.last.Sub(start).Seconds()
	return result, nil
}

// appendCall appends the body of a call that creates jobs.
func appendCall(body []byte, jobs []planned, batch bool) []byte {
	for i := range jobs {
		body = jobs[i].appendCreate(body)
		if batch {
			body = append(body, '\n')
		}
	}
	return body
}

func (a *api) createSome(ctx context.Context, body []byte, batch bool) error {
	if batch {
		return a.createBatch(ctx, body)
	}
	return a.create(ctx, body)
}
