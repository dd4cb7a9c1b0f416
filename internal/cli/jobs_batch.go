package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
)

// createBatch creates the jobs of a file.
func (c *jobsCreate) createBatch(env *environment) error {
	text, err := readInput(env, c.Batch, maxInput)
	if err != nil {
		return fmt.Errorf("reading the batch: %w", err)
	}
	header := http.Header{"Content-Type": {"application/x-ndjson"}}
	if start := bytes.TrimSpace(text); len(start) > 0 && start[0] == '[' {
		header.Set("Content-Type", "application/json")
	}
	if !c.JSON {
		header.Set("Prefer", "return=minimal")
	}
	got, err := c.call(env, http.MethodPost, "/api/jobs/batch", text, header)
	if err != nil {
		return err
	}
	records, err := c.serviceFlags.data(env, got)
	if err != nil || c.JSON {
		return c.print(env, records, err)
	}
	var jobs []struct {
		Number   int64 `json:"job_id"`
		Conflict bool  `json:"has_confict"` // as the contract spells it
	}
	if err := json.Unmarshal(records, &jobs); err != nil {
		return unreadable(err)
	}
	held := 0
	for _, j := range jobs {
		if j.Conflict {
			held++
		}
	}
	if held == 0 {
		_, err = fmt.Fprintf(env.out, "%d jobs created\n", len(jobs))
	} else {
		_, err = fmt.Fprintf(env.out, "%d jobs created; the keys of %d are held by existing jobs\n", len(jobs)-held, held)
	}
	return err
}
