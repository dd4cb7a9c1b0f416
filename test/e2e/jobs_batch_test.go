package e2e

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/test/e2e/harness"
)

const batchPath = "/api/jobs/batch"

// array returns a batch as a JSON array.
func array(items ...string) string { return "[" + strings.Join(items, ",") + "]" }

// lines returns a request option and a batch with an item in each line.
func ndjson(c *harness.Client, text string, opts ...harness.RequestOption) *harness.Answer {
	return c.Do("POST", batchPath, text, append(opts, harness.ContentType("application/x-ndjson"))...)
}

func TestBatch_StoresAllInTheOrderSent(t *testing.T) {
	t.Parallel()
	a := account(t)
	answer := a.Post(batchPath, array(with(waiting, `"name":"a"`), with(waiting, `"name":"b","repeat_every":3600`),
		with(waiting, `"name":"c"`))).Want(201)
	if got := strings.Join(answer.Data().Pluck("name"), " "); got != `"a" "b" "c"` {
		t.Errorf("the records are of %s", got)
	}
	for _, record := range answer.Data().Items() {
		wantSame(t, "read afterwards", a.Get(jobPath(record)).Want(200).Data(), record.Raw())
	}
	answer = ndjson(a.Client, with(waiting, `"name":"d"`)+"\n\n \t\r\n"+with(waiting, `"name":"e"`),
		harness.Header("Prefer", "return=minimal")).Want(201)
	for _, ids := range answer.Data().Items() {
		if keys := strings.Join(ids.Keys(), " "); keys != "id job_id" {
			t.Errorf("a minimal record has %s", keys)
		}
	}
}

func TestBatch_IsAllOrNothingUnlessAskedOtherwise(t *testing.T) {
	t.Parallel()
	a := account(t)
	create(a.Client, keyed("held"))
	good := keyed("good")
	for name, c := range map[string]struct {
		item   string
		status int
	}{
		"wrong":   {`{"url":"http://example.com","retries":99}`, 422},
		"refused": {with(keyed("held"), `"on_conflict":"refuse"`), 409},
	} {
		answer := a.Post(batchPath, array(good, c.item))
		answer.WantProblem(c.status)
		for _, p := range answer.Problems() {
			if !strings.HasPrefix(p.Pointer, "#/1/") {
				t.Errorf("%s: the pointer is %s", name, p.Pointer)
			}
		}
	}
	if list := a.Get("/api/jobs?idempotency_key=good").Want(200).Data().Items(); len(list) != 0 {
		t.Error("a refused batch has stored an item")
	}
	answer := a.Post(batchPath+"?atomic=false", array(good, `{"retries":99}`, with(keyed("held"), `"on_conflict":"refuse"`), keyed("held"),
		`5`)).Want(200)
	if got := strings.Join(answer.Data().Pluck("status"), " "); got != "201 422 409 200 422" {
		t.Errorf("the statuses are %s", got)
	}
	if got := answer.JSON.Get("data.1.problem.errors.0.pointer").Str(); got != "#/url" && got != "#/retries" {
		t.Errorf("a pointer of an item is %q", got)
	}
}

// The job that an earlier item would have created does not exist, so the 409 must not
// name it by a number, which may be given to another job.
func TestBatch_RefusalByAnEarlierItemNamesTheItem(t *testing.T) {
	t.Parallel()
	a := account(t)
	for name, first := range map[string]string{"one-off": keyed("k"), "recurring": with(keyed("k"), `"repeat_every":3600`)} {
		conflict := "refuse"
		if name == "recurring" {
			conflict = "replace"
		}
		answer := a.Post(batchPath, array(waiting, first, with(keyed("k"), `"on_conflict":"`+conflict+`"`))).WantProblem(409)
		const want = "item 1 of this batch has the same idempotency key; nothing was stored: leave one of them out, or use another key"
		if got := answer.JSON.Get("detail").Str(); got != want {
			t.Errorf("%s: detail is %q", name, got)
		}
		if got := answer.JSON.Get("errors.0").Raw(); got != `{"detail":"is held by item 1 of this batch","pointer":"#/2/idempotency_key"}` {
			t.Errorf("%s: the problem is %s", name, got)
		}
	}
	if list := a.Get("/api/jobs").Want(200).Data().Items(); len(list) != 0 {
		t.Errorf("%d jobs are stored", len(list))
	}
}

// Keys of a few bytes name jobs of a megabyte, which a response must not repeat for each.
func TestBatch_ShowsAtMost16MiBOfHolders(t *testing.T) {
	t.Parallel()
	a := account(t)
	body := `"body":"` + strings.Repeat("x", 900<<10) + `"`
	create(a.Client, with(keyed("stored"), body))
	for name, items := range map[string][]string{
		"a stored job":    append([]string{with(waiting, `"name":"new"`)}, slicesOf(30, keyed("stored"))...),
		"an earlier item": append([]string{with(keyed("fresh"), body)}, slicesOf(30, keyed("fresh"))...),
	} {
		for _, query := range []string{"", "?atomic=false"} {
			answer := a.Post(batchPath+query, array(items...)).WantProblem(422)
			if got := answer.JSON.Get("detail").Str(); !strings.Contains(got, "Prefer: return=minimal") {
				t.Errorf("%s%s: the detail is %q, which does not say what to do", name, query, got)
			}
			if n := len(a.Get("/api/jobs").Want(200).Data().Items()); n != 1 {
				t.Fatalf("%s%s: %d jobs are stored after a refused batch, want 1", name, query, n)
			}
		}
	}
	answer := a.Post(batchPath, array(slicesOf(30, keyed("stored"))...), harness.Header("Prefer", "return=minimal")).Want(200)
	if got := answer.Data().Get("29.has_confict").Raw(); got != "true" {
		t.Errorf("has_confict of a minimal duplicate is %s", got)
	}
	if n := len(a.Post(batchPath, array(slicesOf(10, keyed("stored"))...)).Want(200).Data().Items()); n != 10 {
		t.Errorf("%d records, want 10", n)
	}
	refused := array(slicesOf(30, with(keyed("stored"), `"on_conflict":"refuse"`))...)
	statuses := a.Post(batchPath+"?atomic=false", refused).Want(200).Data().Pluck("status")
	if len(statuses) != 30 || statuses[0] != "409" {
		t.Errorf("the statuses of refused items are %v", statuses)
	}
}

func TestBatch_RefusesWhatCantBeRead(t *testing.T) {
	t.Parallel()
	a := account(t)
	a.Post(batchPath, `[{"url":"https://example.com"`).WantProblem(400)
	a.Post(batchPath, `[{"url":"https://example.com","url":"https://example.com"}]`).WantProblem(400)
	a.Post(batchPath, waiting).WantProblem(422)
	a.Post(batchPath, `[]`).WantProblem(422)
	a.Post(batchPath+"?atomic=perhaps", array(waiting)).WantProblem(422)
	a.Post(batchPath, array(waiting), harness.Header("Idempotency-Key", "k")).WantProblem(422)
	ndjson(a.Client, " \n\n").WantProblem(422)
	ndjson(a.Client, waiting+"\n[]").WantPointers("#/1")
	if got := ndjson(a.Client, waiting+"\n\n{").WantProblem(400).JSON.Get("detail").Str(); !strings.Contains(got, "line 3") {
		t.Errorf("the detail is %q, want the line named", got)
	}
	deep := with(waiting, `"body":`+strings.Repeat("[", 200)+strings.Repeat("]", 200))
	a.Post(batchPath, array(waiting, deep)).WantPointers("#/1/body")
	ndjson(a.Client, strings.Repeat(waiting+"\n", 1001)).WantProblem(413)
	large := with(waiting, `"body":"`+strings.Repeat("x", 1<<20-200)+`"`)
	ndjson(a.Client, strings.Repeat(large+"\n", 9)).WantProblem(413)
	ndjson(a.Client, strings.Repeat(large+"\n", 7)).Want(201)
	tooLarge := with(waiting, `"body":"`+strings.Repeat("x", 1<<20)+`"`)
	ndjson(a.Client, waiting+"\n"+tooLarge).WantPointers("#/1")
}

// TestBatch_AKillStoresAllOrNothing kills the service while batches are created.
func TestBatch_AKillStoresAllOrNothing(t *testing.T) {
	t.Parallel()
	s := harness.Start(t)
	const size = 200
	accepted := map[string]bool{}
	sent := 0
	for round := range 5 {
		a := s.Public(t)
		var wg sync.WaitGroup
		var mu sync.Mutex
		before := len(accepted)
		for worker := range 2 {
			wg.Go(func() {
				for n := 0; ; n++ {
					name := fmt.Sprintf("%d-%d-%d", round, worker, n)
					mu.Lock()
					sent++
					mu.Unlock()
					answer, err := a.Try("POST", batchPath, array(slicesOf(size, with(waiting, `"name":"`+name+`"`))...),
						harness.Header("Prefer", "return=minimal"))
					if err != nil || answer.Status != 201 {
						return
					}
					mu.Lock()
					accepted[name] = true
					mu.Unlock()
				}
			})
		}
		harness.Eventually(t, soon, "a batch to be stored", func() bool {
			mu.Lock()
			defer mu.Unlock()
			return len(accepted) > before
		})
		time.Sleep(time.Duration(5*round) * time.Millisecond) // anywhere in a batch
		s.Kill()
		wg.Wait()
		s.Restart(t)
	}
	a := s.Public(t)
	counts := map[string]int{}
	for path := "/api/jobs?limit=100"; path != ""; {
		page := a.Get(path).Want(200)
		for _, name := range page.Data().Pluck("name") {
			counts[strings.Trim(name, `"`)]++
		}
		path = page.Next()
	}
	for name, n := range counts {
		if n != size {
			t.Errorf("batch %s has %d of %d jobs", name, n, size)
		}
	}
	for name := range accepted {
		if counts[name] != size {
			t.Errorf("batch %s was acknowledged and has %d jobs", name, counts[name])
		}
	}
	if len(accepted) == 0 || sent == 0 {
		t.Error("no batch was stored before a kill; the test shows nothing")
	}
}

func slicesOf(n int, item string) []string {
	items := make([]string, n)
	for i := range items {
		items[i] = item
	}
	return items
}
