package differ

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/punctual-dev/punctual/test/pace"
)

const (
	// restWithin is how long a side may take to come to rest; a healthy one needs a
	// fraction of it.
	restWithin = time.Minute
	// soon is when something is due that the test waits for. All else is due hours later.
	soon = 20 * time.Minute
)

// awaitRest waits until nothing of the accounts changes any more by itself.
func (s *side) awaitRest() error {
	within := pace.Guard(restWithin)
	deadline, pause := time.Now().Add(within), 2*time.Millisecond
	for {
		why := ""
		for account := range accounts {
			var err error
			if why, err = s.busy(account); err != nil {
				return err
			}
			if why != "" {
				break
			}
		}
		switch {
		case why == "":
			return nil
		case time.Now().After(deadline):
			return fmt.Errorf("on %s, %s for %s", s.name, why, within)
		}
		time.Sleep(pause)
		pause = min(pause*3/2, 50*time.Millisecond)
	}
}

// shown is what is read of a job.
type shown struct {
	Number int64   `json:"job_id"`
	Key    *string `json:"idempotency_key"`
	Job    struct {
		State string
		Due   time.Time `json:"scheduled_at"`
	}
	Args struct{ URL string }
}

// busy returns what an account waits for that happens soon; "" for nothing.
func (s *side) busy(account int) (string, error) {
	// A job moves between the lists, also back, so it is in one of three that are read in
	// turn unless it is final.
	var pending, running, after struct{ Data []shown }
	const scheduled = "/api/jobs?limit=100&state=scheduled&order_by=job_id,asc"
	if err := s.read(account, scheduled, &pending); err != nil {
		return "", err
	}
	if err := s.read(account, "/api/jobs?limit=100&state=executing", &running); err != nil {
		return "", err
	}
	if err := s.read(account, scheduled, &after); err != nil {
		return "", err
	}
	if moved := movedBetween(pending.Data, after.Data); moved != 0 {
		return fmt.Sprintf("job %d has just changed", moved), nil
	}
	held := map[string]bool{} // the keys of jobs that do not end soon
	for _, j := range running.Data {
		if !s.target.holds(j.Args.URL) {
			return fmt.Sprintf("job %d is executing", j.Number), nil
		}
		if j.Key != nil {
			held[*j.Key] = true
		}
	}
	for _, j := range pending.Data {
		if j.Job.Due.After(time.Now().Add(soon)) || j.Key != nil && held[*j.Key] {
			continue
		}
		waits, err := s.waits(account, j.Number)
		if err != nil {
			return "", err
		}
		if !waits {
			return fmt.Sprintf("job %d is %s", j.Number, j.Job.State), nil
		}
		if j.Key != nil {
			held[*j.Key] = true
		}
	}
	var operations struct{ Data []struct{ State string } }
	if err := s.read(account, "/api/operations", &operations); err != nil {
		return "", err
	}
	for _, o := range operations.Data {
		if o.State == "running" {
			return "an operation is running", nil
		}
	}
	return "", nil
}

// movedBetween returns a job that is in one of two lists only; 0 if there is none.
func movedBetween(before, after []shown) int64 {
	var numbers [2][]int64
	for i, list := range [][]shown{before, after} {
		for _, j := range list {
			numbers[i] = append(numbers[i], j.Number)
		}
	}
	for _, one := range [][2][]int64{numbers, {numbers[1], numbers[0]}} {
		for _, number := range one[0] {
			if !slices.Contains(one[1], number) {
				return number
			}
		}
	}
	return 0
}

var finalStates = []string{"completed", "cancelled", "discarded"}

// waits reports whether a job waits for a time that is not soon, for a limit or for another
// job.
func (s *side) waits(account int, number int64) (bool, error) {
	var details struct {
		Data struct {
			NextAttempt *time.Time `json:"next_attempt_at"`
			WaitingFor  []string   `json:"waiting_for"`
		}
	}
	if err := s.read(account, fmt.Sprintf("/api/jobs/%d/details", number), &details); err != nil {
		return false, err
	}
	if next := details.Data.NextAttempt; next != nil && next.After(time.Now().Add(soon)) {
		return true, nil
	}
	for _, key := range details.Data.WaitingFor {
		if other, ok := strings.CutPrefix(key, "job:"); ok {
			var awaited struct{ Data shown }
			if err := s.read(account, "/api/jobs/"+other, &awaited); err != nil {
				return false, err
			}
			if !slices.Contains(finalStates, awaited.Data.Job.State) {
				return true, nil // until that job, which is seen by itself, has ended
			}
			continue
		}
		var limit struct {
			Data struct {
				Paused   bool
				Parallel *int
				InFlight int        `json:"in_flight"`
				NextAt   *time.Time `json:"next_at"`
			}
		}
		if err := s.read(account, "/api/limits/"+url.PathEscape(key), &limit); err != nil {
			return false, err
		}
		l := limit.Data
		if l.Paused || l.Parallel != nil && l.InFlight >= *l.Parallel || l.NextAt != nil && l.NextAt.After(time.Now().Add(soon)) {
			return true, nil
		}
	}
	return false, nil
}

// read reads what the test needs to know; a missing record is read as nothing.
func (s *side) read(account int, path string, into any) error {
	r, err := s.send(account, http.MethodGet, path, "", nil)
	if err != nil {
		return err
	}
	if r.status != http.StatusOK && r.status != http.StatusNotFound {
		return fmt.Errorf("on %s, GET %s: %d %s", s.name, path, r.status, r.body)
	}
	return json.Unmarshal(r.body, into)
}
