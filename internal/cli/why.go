package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/why"
)

type whyCommand struct {
	serviceFlags
	ID string `arg:"" name:"id" help:"A job's number or id, a schedule's id, or key:KEY."`
}

// then has the commands for what an explanation suggests; %s is the id of what it
// explains, or of a schedule's last run.
var then = map[why.Action]string{
	why.Wait:     "punctual jobs watch %s",
	why.Edit:     "punctual jobs edit %s --set FIELD=VALUE",
	why.Rerun:    "punctual jobs rerun %s",
	why.Enable:   "punctual schedules enable %s",
	why.Rehearse: "punctual rehearse",
	why.Runs:     "punctual jobs list --schedule %s",
	why.LastRun:  "punctual why %s",
}

// told is an explanation as it is printed.
type told struct {
	Because string   `json:"because"`
	Remedy  string   `json:"remedy"`
	Then    []string `json:"then"`
}

// Run explains a job or a schedule.
func (c *whyCommand) Run(env *environment) error {
	t, err := c.tell(env)
	if err != nil {
		return err
	}
	if c.JSON {
		text, err := json.Marshal(t)
		return c.print(env, text, err)
	}
	for _, sentence := range []string{t.Because, t.Remedy} {
		if sentence == "" {
			continue
		}
		if _, err := fmt.Fprintln(env.out, printable(sentence)); err != nil {
			return err
		}
	}
	for _, command := range t.Then {
		if _, err := fmt.Fprintln(env.out, "  "+printable(command)); err != nil {
			return err
		}
	}
	return nil
}

// tell explains a job, or the schedule with the id if there is no such job.
func (c *whyCommand) tell(env *environment) (*told, error) {
	record, err := c.record(env, http.MethodGet, jobPath(c.ID)+"/details", nil)
	if err == nil {
		j, err := c.readJob(env, record)
		if err != nil {
			return nil, err
		}
		return tellAll(j.Explain(wordsOf(c.terminal(env))), fmt.Sprint(j.Number), ""), nil
	}
	if missing := (*refusal)(nil); !errors.As(err, &missing) || missing.status != http.StatusNotFound {
		return nil, err
	}
	record, err = c.record(env, http.MethodGet, schedulePath(c.ID)+"/details", nil)
	if missing := (*refusal)(nil); errors.As(err, &missing) && missing.status == http.StatusNotFound {
		return nil, &refusal{status: missing.status,
			detail: "there is no such job or schedule; punctual jobs list and punctual schedules list have the ids"}
	}
	if err != nil {
		return nil, err
	}
	s, err := why.ReadSchedule(record)
	if err != nil {
		return nil, unreadable(err)
	}
	return tellAll(s.Explain(wordsOf(c.terminal(env))), s.ID, fmt.Sprint(s.LastRun)), nil
}

func tellAll(e why.Explanation, id, lastRun string) *told {
	t := &told{Because: e.Because, Remedy: e.Remedy, Then: []string{}}
	for _, action := range e.Then {
		of := id
		if action == why.LastRun {
			of = lastRun
		}
		t.Then = append(t.Then, strings.ReplaceAll(then[action], "%s", of))
	}
	return t
}

// readJob reads a job's details, and the limits that hold the job back.
func (c *serviceFlags) readJob(env *environment, details []byte) (*why.Job, error) {
	j, err := why.ReadJob(details, func(path string) ([]byte, error) { return c.record(env, http.MethodGet, path, nil) })
	if err != nil {
		return nil, unreadable(err)
	}
	return j, nil
}

func wordsOf(to terminal) why.Words {
	return why.Words{Moment: to.instant, Now: time.Now(), Names: true}
}

// excerptLength is how many characters of a response are shown.
const excerptLength = 300

// excerpt returns the beginning of the body of the last response to a job's requests;
// "" if there was none. The newest log entries of the job have it.
func (c *serviceFlags) excerpt(env *environment, number string) (string, error) {
	logs, err := c.record(env, http.MethodGet, "/api/logs?limit=5&job_id="+number, nil)
	if err != nil {
		return "", err
	}
	for _, log := range rawjson.Elements(logs) {
		if rawjson.Text(rawjson.Get(log, "event")) != "worker.http.response" {
			continue
		}
		body := rawjson.Get(rawjson.Get(log, "payload"), "body")
		if rawjson.IsNull(body) {
			return "", nil
		}
		text := string(body)
		if body.Kind() == '"' {
			text = rawjson.Text(body)
		}
		if runes := []rune(text); len(runes) > excerptLength {
			text = string(runes[:excerptLength]) + "…"
		}
		return text, nil
	}
	return "", nil
}
