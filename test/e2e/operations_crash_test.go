package e2e

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/test/e2e/harness"
)

// manyJobs is how many jobs the operation has that is interrupted.
const manyJobs = 5000

// createMany stores n jobs that stay available, with a tag and a number each.
func createMany(t *testing.T, c *harness.Client, n int, tag string) {
	t.Helper()
	const most = 500 // in a call
	var jobs []string
	for i := range n {
		jobs = append(jobs, fmt.Sprintf(`{"url":"https://example.com/hook","scheduled_at":"%s","method":"post","body":%d,"tags":["%s"]}`,
			far, i, tag))
	}
	for some := range slices.Chunk(jobs, most) {
		c.Post(batchPath, array(some...), harness.Header("Prefer", "return=minimal")).Want(201)
	}
}

// TestOperations_KilledInTheMiddleAreExact kills the service in the middle of an
// operation that cancels 5,000 jobs, and of one that reruns them. Each job is
// cancelled and rerun once.
func TestOperations_KilledInTheMiddleAreExact(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes half a minute")
	}
	r := rand.New(rand.NewPCG(seeded(t), 0))
	s := harness.Start(t)
	a := s.Account(t)
	createMany(t, a.Client, manyJobs, "x")
	o := interrupted(t, r, s, a.Client, `{"action":"cancel","filter":{"tags":["x"]}}`)
	wantOperated(t, o, manyJobs, manyJobs, `{}`)
	wantSame(t, "the counts", a.Get("/api/jobs/counts?tag=x").Want(200).Data(),
		`{"available":0,"executing":0,"retryable":0,"completed":0,"cancelled":5000,"discarded":0}`)

	o = interrupted(t, r, s, a.Client, `{"action":"rerun","filter":{"state":"cancelled"},"set":{"scheduled_at":"`+far+`"}}`)
	wantOperated(t, o, manyJobs, manyJobs, `{}`)
	wantSame(t, "the counts", a.Get("/api/jobs/counts?tag=x").Want(200).Data(),
		`{"available":5000,"executing":0,"retryable":0,"completed":0,"cancelled":5000,"discarded":0}`)
	reruns := map[string]int{}
	for path := "/api/jobs?state=available&limit=100"; path != ""; {
		page := a.Get(path).Want(200)
		for _, j := range page.Data().Items() {
			reruns[j.Get("args.body").Raw()]++
		}
		path, _, _ = strings.Cut(strings.TrimPrefix(page.Header.Get("Link"), "<"), ">")
	}
	for i := range manyJobs {
		if n := reruns[fmt.Sprint(i)]; n != 1 {
			t.Errorf("job %d was rerun %d times", i, n)
		}
	}
	o = operate(t, a.Client, `{"action":"rerun","filter":{"state":"cancelled"}}`)
	wantOperated(t, o, manyJobs, 0, `{"has_rerun":5000}`)
}

// interrupted carries out an operation, and kills the service three times at random
// places of it.
func interrupted(t *testing.T, r *rand.Rand, s *harness.Service, c *harness.Client, body string) harness.JSON {
	t.Helper()
	o := c.Post("/api/operations", body).Want(202).Data()
	for kill := range 3 {
		until := int64(kill*manyJobs/4 + r.IntN(manyJobs/4))
		harness.Within(3*soon, func() bool {
			o = c.Get(operationPath(o)).Want(200).Data()
			return o.Get("done").Int() > until || o.Get("state").Str() != "running"
		})
		if o.Get("state").Str() != "running" {
			t.Logf("finished before kill %d", kill)
			break
		}
		s.Kill()
		t.Logf("killed after %s jobs", o.Get("done").Raw())
		s.Restart(t)
	}
	return awaitOperation(t, c, o)
}

func TestOperations_OneAtATimeUntilStopped(t *testing.T) {
	t.Parallel()
	s := harness.Start(t)
	a := s.Account(t)
	const n = 2000 // reruns take more than four seconds, so that it is stopped before their end
	createMany(t, a.Client, n, "x")
	o := operate(t, a.Client, `{"action":"cancel","filter":{"tags":["x"]}}`)
	wantOperated(t, o, n, n, `{}`)
	const rerun = `{"action":"rerun","filter":{"tags":["x"]},"set":{"scheduled_at":"` + far + `"}}`
	o = a.Post("/api/operations", rerun).Want(202).Data()
	id := o.Get("id").Str()
	conflict := a.Post("/api/operations", rerun).WantProblem(409)
	if detail := conflict.JSON.Get("detail").Str(); !strings.Contains(detail, id) {
		t.Errorf("the detail does not name the operation: %s", detail)
	}
	other := s.Account(t)
	operate(t, other.Client, `{"action":"cancel","filter":{"tags":["x"]}}`)
	harness.Eventually(t, 6*soon, "a hundred reruns",
		func() bool { return a.Get(operationPath(o)).Want(200).Data().Get("done").Int() > 100 })
	stopped := a.Do(http.MethodDelete, operationPath(o), nil).Want(200).Data()
	wantSame(t, "the state", stopped.Get("state"), `"stopped"`)
	done := stopped.Get("done").Int()
	if done <= 100 || done >= n {
		t.Errorf("%d jobs were rerun when it was stopped", done)
	}
	<-time.After(300 * time.Millisecond)
	wantSame(t, "the stopped operation later", a.Get(operationPath(o)).Want(200).Data(), stopped.Raw())
	if got := a.Get("/api/jobs/counts?state=available").Want(200).Data().Get("available").Int(); got != done {
		t.Errorf("there are %d reruns, want %d", got, done)
	}
	events := strings.Join(auditEvents(a.Get("/api/account/audit").Want(200).Data()), " ")
	if !strings.HasPrefix(events, "operation.stopped operation.started ") {
		t.Errorf("the audit log has %s", events)
	}
	o = operate(t, a.Client, rerun)
	wantOperated(t, o, n+int(done), n-int(done), fmt.Sprintf(`{"has_rerun":%d,"unfinished":%d}`, done, done))
	if metrics := string(a.Get("/metrics").Want(200).Body); !strings.Contains(metrics,
		fmt.Sprintf(`punctual_operation_jobs_total{action="rerun",result="changed"} %d`, n)) {
		t.Error("the metrics don't count the reruns")
	}
}
