package workflow

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/test/e2e/harness"
	"github.com/punctual-dev/punctual/test/ports"
)

// application serves workflows as the SDK does, at little cost: one of so many steps in a
// sequence, and one that waits for an event.
type application struct {
	testing.TB
	service, key, url string
	ended             atomic.Int64
	received          atomic.Int64 // bytes that the service has sent
}

// do calls the service.
func (a *application) do(method, path, run, body string) []byte {
	r, err := http.NewRequest(method, a.service+path, strings.NewReader(body))
	if err != nil {
		a.Error(err)
		return nil
	}
	r.Header.Set("Authorization", "Bearer "+a.key)
	if run != "" {
		r.Header.Set("Upstash-Workflow-RunId", run)
		r.Header.Set("Upstash-Workflow-Init", "false")
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		a.Error(err)
		return nil
	}
	defer func() { _ = response.Body.Close() }()
	answer, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		a.Errorf("%s %s: %s %s %v", method, path, response.Status, answer, err)
	}
	return answer
}

// ServeHTTP carries out the next step: the path has how many there are.
func (a *application) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	run := r.Header.Get("Upstash-Workflow-Runid")
	sent, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	if len(sent) == 0 {
		sent = a.do("GET", "/v2/workflows/runs/"+run, "", "")
	}
	a.received.Add(int64(len(sent)))
	var steps []struct{ CallType, Body string }
	if err := json.Unmarshal(sent, &steps); err != nil {
		a.Errorf("the steps: %v", err)
		return
	}
	kind, number, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	most, _ := strconv.Atoi(number)
	step := func(kind string) string {
		return fmt.Sprintf(`{"stepId":%d,"stepName":"step","stepType":%q,"out":"%s","concurrent":1}`, len(steps), kind,
			strings.Repeat("x", 20))
	}
	switch {
	case len(steps) > most:
		a.do("DELETE", "/v2/workflows/runs/"+run+"?cancel=false", "", `"done"`)
		a.ended.Add(1)
	case kind == "waits":
		a.do("POST", "/v2/wait/the-event", run, `{"timeout":"1d","step":`+step("Wait")+`}`)
	default:
		a.do("POST", "/v2/publish/"+a.url+r.URL.Path, run, step("Run"))
	}
	w.WriteHeader(http.StatusOK)
}

// trigger starts a run.
func (a *application) trigger(path string) {
	a.do("POST", "/v2/trigger/"+a.url+path, "", `{}`)
}

// until waits until so many runs have ended.
func (a *application) until(n int64) {
	for began := time.Now(); a.ended.Load() < n; time.Sleep(time.Millisecond) {
		if time.Since(began) > 10*time.Minute {
			a.Fatalf("only %d of %d runs have ended", a.ended.Load(), n)
		}
	}
}

func newApplication(b *testing.B) (*application, *harness.Service) {
	address := ports.Free(b)
	service := harness.Start(b, harness.Flag("listen", address), harness.Flag("public-url", "http://"+address),
		harness.Flag("allow-http-targets", "true"))
	a := &application{TB: b, service: "http://" + address, key: service.Account(b).Key}
	a.url = harness.BareTarget(b, a)
	return a, service
}

// cpu returns how many seconds of CPU a process has used.
func cpu(b *testing.B, pid int) float64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		b.Fatal(err)
	}
	_, after, _ := bytes.Cut(text, []byte(") "))
	fields := bytes.Fields(after)
	total := 0.0
	for _, f := range fields[11:13] {
		n, _ := strconv.ParseFloat(string(f), 64)
		total += n / 100 // clock ticks are hundredths of a second
	}
	return total
}

// BenchmarkSteps runs one run of so many steps in a sequence: what a step costs the service
// should not depend on how many there are. CPU is the service's.
func BenchmarkSteps(b *testing.B) {
	for _, steps := range []int{100, 300, 1000} {
		b.Run(strconv.Itoa(steps), func(b *testing.B) {
			a, service := newApplication(b)
			a.trigger("/steps/10")
			a.until(1)
			before, received := cpu(b, service.PID()), a.received.Load()
			b.ResetTimer()
			for i := range b.N {
				a.trigger("/steps/" + strconv.Itoa(steps))
				a.until(int64(i) + 2)
			}
			b.StopTimer()
			n := float64(b.N * steps)
			b.ReportMetric(b.Elapsed().Seconds()*1e3/n, "ms/step")
			b.ReportMetric((cpu(b, service.PID())-before)*1e6/n, "cpu-µs/step")
			b.ReportMetric(float64(a.received.Load()-received)/n, "sent-B/step")
		})
	}
}

// BenchmarkWaits has runs wait for an event that ends all of their waits at once, while
// another account creates jobs, one after another.
func BenchmarkWaits(b *testing.B) {
	runs := 1000
	if given := os.Getenv("PUNCTUAL_WORKFLOW_WAITS"); given != "" {
		runs, _ = strconv.Atoi(given)
	}
	for range b.N {
		a, service := newApplication(b)
		other := service.Account(b)
		var starters sync.WaitGroup
		for i := range 16 {
			starters.Go(func() {
				for range runs/16 + min(1, max(0, runs%16-i)) {
					a.trigger("/waits/1")
				}
			})
		}
		starters.Wait()
		waiting := 0
		for began := time.Now(); waiting < min(runs, 1000) || pending(a) > 0; time.Sleep(200 * time.Millisecond) {
			var list []json.RawMessage
			if err := json.Unmarshal(a.do("GET", "/v2/waiters/the-event", "", ""), &list); err != nil {
				b.Fatal(err)
			}
			if waiting = len(list); time.Since(began) > 10*time.Minute {
				b.Fatalf("only %d runs wait", waiting)
			}
		}
		var took []time.Duration
		stop, stopped := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(stopped)
			for {
				select {
				case <-stop:
					return
				default:
				}
				began := time.Now()
				if got := other.Post("/api/jobs", harness.JSON(
					`{"url":"https://example.com/","schedule_in":[1,"hours"]}`)); got.Status != http.StatusCreated {
					b.Errorf("creating: %d", got.Status)
				}
				took = append(took, time.Since(began))
				time.Sleep(2 * time.Millisecond)
			}
		}()
		before, began := cpu(b, service.PID()), time.Now()
		a.do("POST", "/v2/notify/the-event", "", base64.StdEncoding.EncodeToString([]byte("data")))
		notified := time.Since(began)
		a.until(int64(runs))
		ended := time.Since(began)
		close(stop)
		<-stopped
		slices.Sort(took)
		b.ReportMetric(notified.Seconds(), "s-to-notify")
		b.ReportMetric(ended.Seconds(), "s-to-end")
		b.ReportMetric((cpu(b, service.PID())-before)*1e6/float64(runs), "cpu-µs/wait")
		b.ReportMetric(float64(took[len(took)/2].Microseconds())/1e3, "other-p50-ms")
		b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1e3, "other-p99-ms")
		b.ReportMetric(float64(took[len(took)-1].Microseconds())/1e3, "other-worst-ms")
	}
}

// pending returns how many runs do not wait yet.
func pending(a *application) int {
	var list struct{ Data []json.RawMessage }
	if err := json.Unmarshal(a.do("GET", "/api/runs?state=started&limit=1", "", ""), &list); err != nil {
		a.Fatal(err)
	}
	return len(list.Data)
}
