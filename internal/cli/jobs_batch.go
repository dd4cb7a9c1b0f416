package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/punctual-dev/punctual/client"
	"github.com/punctual-dev/punctual/internal/rawjson"
)

// createBatch creates the jobs of a file.
func (c *jobsCreate) createBatch(env *environment) error {
	text, err := readInput(env, c.Batch, maxInput)
	if err != nil {
		return fmt.Errorf("reading the batch: %w", err)
	}
	if len(bytes.TrimSpace(text)) == 0 {
		return fmt.Errorf("%s is empty; give a JSON array, or a job in each line", inputName(c.Batch))
	}
	header := http.Header{"Content-Type": {"application/x-ndjson"}}
	then := hasThen(text)
	if start := bytes.TrimSpace(text); then || len(start) > 0 && start[0] == '[' {
		header.Set("Content-Type", "application/json")
	}
	if !c.JSON {
		header.Set("Prefer", "return=minimal")
	}
	text = identifyAll(text, header.Get("Content-Type") != "application/json")
	got, repeated, err := c.callRepeating(env, "/api/jobs/batch", text, header)
	if err != nil {
		return err
	}
	records, err := c.serviceFlags.data(env, got)
	if err == nil && then {
		records = withThen(records, got.Body)
	}
	if err != nil || c.JSON {
		return c.print(env, records, err)
	}
	var jobs []client.MinimalJob
	if err := json.Unmarshal(records, &jobs); err != nil {
		return unreadable(err)
	}
	if c.Quiet {
		for _, j := range jobs {
			if _, err := fmt.Fprintln(env.out, j.JobID); err != nil {
				return err
			}
		}
		return nil
	}
	held := 0
	for _, j := range jobs {
		if j.HasConflict {
			held++
		}
	}
	text = fmt.Appendf(nil, "%s created", counted(len(jobs)-held, "job", "jobs"))
	switch {
	case held > 0 && repeated:
		text = fmt.Appendf(text, "; %d exist, which an earlier try of this command may have created", held)
	case held > 0:
		text = fmt.Appendf(text, "; %d not, because existing jobs hold their keys", held)
	}
	_, err = fmt.Fprintf(env.out, "%s\n", text)
	return err
}

// hasThen reports whether a batch is an object with jobs and then, rather than an array or
// lines.
func hasThen(text []byte) bool {
	body, err := rawjson.Read(text)
	return err == nil && body.Kind() == '{' && rawjson.Get(body, "jobs") != nil
}

// withThen returns the records of a batch with that of its then behind them.
func withThen(records, response []byte) []byte {
	body, err := rawjson.Read(response)
	if err != nil {
		return records
	}
	return rawjson.Array(append(rawjson.Elements(records), rawjson.Get(body, "then")))
}
