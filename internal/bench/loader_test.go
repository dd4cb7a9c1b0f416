package bench

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func TestOrder_ReadsWhatWasWritten(t *testing.T) {
	t.Parallel()
	due := time.UnixMicro(1_700_000_000_123_456)
	jobs := []planned{
		{number: 7, due: due, url: "https://127.0.0.1:1/job"},
		{number: 8, due: due.Add(time.Second), create: due.Add(-time.Second), url: "https://127.0.0.1:1/hang", options: `,"timeout":10`,
			body: 5000},
	}
	var text bytes.Buffer
	if err := writeOrder(&text, loadOrder{URL: "http://127.0.0.1:2", Key: "k", Clients: 3, Batch: 1000, Keep: true}, jobs); err != nil {
		t.Fatal(err)
	}
	work, err := readOrder(json.NewDecoder(&text))
	if err != nil {
		t.Fatal(err)
	}
	if want := (loadOrder{URL: "http://127.0.0.1:2", Key: "k", Clients: 3, Batch: 1000, Keep: true, Jobs: 2}); work.loadOrder != want {
		t.Errorf("the order is %+v", work.loadOrder)
	}
	for i, want := range jobs {
		got := work.jobs[i]
		if !got.due.Equal(want.due) || !got.create.Equal(want.create) {
			t.Errorf("the times of %d are %v and %v", i, got.due, got.create)
		}
		got.due, got.create, want.due, want.create = time.Time{}, time.Time{}, time.Time{}, time.Time{}
		if got != want {
			t.Errorf("job %d is %+v, not %+v", i, got, want)
		}
	}
}

// startTestLoad runs the load within the test, against a service of two calls. report
// returns its last report, after calling then with each before it.
func startTestLoad(t *testing.T, create http.HandlerFunc) (
	order func(loadOrder, []planned), report func(then ...func(loadReport)) loadReport, end func(),
) {
	t.Helper()
	service := httptest.NewServer(create)
	t.Cleanup(service.Close)
	in, orders := io.Pipe()
	out, answers := io.Pipe()
	var ended sync.WaitGroup
	ended.Go(func() {
		if err := runLoad(context.WithoutCancel(t.Context()), in, answers); err != nil {
			t.Errorf("the load ended with %v", err)
		}
		_ = answers.Close()
	})
	t.Cleanup(ended.Wait)
	t.Cleanup(func() { _ = orders.Close() })
	lines := bufio.NewScanner(out)
	next := func() string {
		if !lines.Scan() {
			t.Fatal("the load says nothing more")
		}
		return lines.Text()
	}
	if got := next(); got != "ready" {
		t.Fatalf("the load begins with %q", got)
	}
	order = func(o loadOrder, jobs []planned) {
		o.URL = service.URL
		if err := writeOrder(orders, o, jobs); err != nil {
			t.Error(err)
		}
	}
	report = func(then ...func(loadReport)) loadReport {
		for {
			var r loadReport
			if err := json.Unmarshal([]byte(next()), &r); err != nil {
				t.Fatal(err)
			}
			if r.Last {
				return r
			}
			for _, f := range then {
				f(r)
			}
		}
	}
	return order, report, func() { _ = orders.Close() }
}

func TestLoad_CreatesSinglyAndInBatches(t *testing.T) {
	t.Parallel()
	var single, batches, lines atomic.Int64
	order, report, _ := startTestLoad(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if r.URL.Path == "/api/jobs/batch" {
			batches.Add(1)
			lines.Add(int64(bytes.Count(body, []byte("\n"))))
			_, _ = io.WriteString(w, `{"data":[{"job_id":11},{"job_id":12}]}`)
			return
		}
		w.Header().Set("Location", "/api/jobs/5")
		w.WriteHeader(http.StatusCreated)
		single.Add(1)
	})
	jobs := make([]planned, 5)
	for i := range jobs {
		jobs[i] = planned{number: int64(i), due: time.Now(), url: "https://127.0.0.1:1/job"}
	}
	order(loadOrder{Clients: 2, Keep: true}, jobs)
	if r := report(); r.Error != "" || r.Done != 5 || r.Calls.Count != 5 || len(r.Paths) != 5 || r.Paths[0] != "/api/jobs/5" ||
		r.PerSecond <= 0 {
		t.Errorf("of single creates it reports %+v", r)
	}
	order(loadOrder{Clients: 2, Batch: 2}, jobs)
	if r := report(); r.Error != "" || r.Done != 5 || r.Calls.Count != 3 || len(r.Paths) != 0 {
		t.Errorf("of batches it reports %+v", r)
	}
	if single.Load() != 5 || batches.Load() != 3 || lines.Load() != 5 {
		t.Errorf("%d single creates and %d batches with %d jobs arrived", single.Load(), batches.Load(), lines.Load())
	}
}

func TestLoad_ReportsRefusal(t *testing.T) {
	t.Parallel()
	order, report, _ := startTestLoad(t, func(w http.ResponseWriter,
		_ *http.Request) {
		http.Error(w, "no more", http.StatusTooManyRequests)
	})
	order(loadOrder{Clients: 1}, []planned{{number: 1, due: time.Now(), url: "https://127.0.0.1:1/job"}})
	if r := report(); !strings.Contains(r.Error, "no more") || r.Done != 0 {
		t.Errorf("of a refusal it reports %+v", r)
	}
}

// What was created before an interruption must be known, to be cancelled.
func TestLoad_TellsWhatItCreatedBeforeItsInputEnded(t *testing.T) {
	t.Parallel()
	order, report, end := startTestLoad(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", "/api/jobs/1")
		w.WriteHeader(http.StatusCreated)
	})
	order(loadOrder{Clients: 1, Keep: true}, []planned{
		{number: 1, due: time.Now(), url: "https://127.0.0.1:1/job"},
		{number: 2, due: time.Now(), create: time.Now().Add(time.Hour), url: "https://127.0.0.1:1/job"},
	})
	interrupt := func(r loadReport) {
		if r.Done == 1 {
			end()
		}
	}
	if r := report(interrupt); r.Error == "" || len(r.Paths) != 1 {
		t.Errorf("of an interrupted order it reports %+v", r)
	}
}

func TestTarget_TellsWhatWasSpoken(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		one, two int64
		want     string
	}{{0, 0, ""}, {3, 0, "HTTP/1.1"}, {0, 3, "HTTP/2"}, {3, 2, "HTTP/1.1 and HTTP/2"}, {2, 3, "HTTP/2 and HTTP/1.1"}} {
		var target target
		target.overHTTP1.Store(c.one)
		target.overHTTP2.Store(c.two)
		if got := target.spoken(); got != c.want {
			t.Errorf("after %d and %d requests it tells %q, not %q", c.one, c.two, got, c.want)
		}
		if got := target.spoken(); got != "" {
			t.Errorf("asked again it tells %q", got)
		}
	}
}
