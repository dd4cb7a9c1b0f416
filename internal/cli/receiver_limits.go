package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"text/tabwriter"
	"time"

	"github.com/alecthomas/kong"
)

type limitsCommand struct {
	List   limitsList   `cmd:"" help:"List limits for receivers."`
	Show   limitsShow   `cmd:"" help:"Print a limit with what waits for it and what is under way."`
	Set    limitsSet    `cmd:"" help:"Define or replace a limit. What is not given does not limit."`
	Delete limitsDelete `cmd:"" help:"Delete a limit that no unfinished job names."`
	Pause  limitsPause  `cmd:"" help:"Hold back everything that needs a limit."`
	Resume limitsResume `cmd:"" help:"Let what needs a paused limit go on."`
}

// limitView is a limit as the API shows it.
type limitView struct {
	Key  string `json:"key"`
	Rate *struct {
		Calls int         `json:"calls"`
		Per   json.Number `json:"per"`
	} `json:"rate"`
	Parallel *int `json:"parallel"`
	Paused   bool `json:"paused"`
}

func (l *limitView) rate() string {
	if l.Rate == nil {
		return "-"
	}
	return strconv.Itoa(l.Rate.Calls) + " in " + l.Rate.Per.String() + " s"
}

func (l *limitView) parallel() string {
	if l.Parallel == nil {
		return "-"
	}
	return strconv.Itoa(*l.Parallel)
}

func limitPath(key string) string { return "/api/limits/" + url.PathEscape(key) }

type limitsList struct{ serviceFlags }

// Run lists limits.
func (c *limitsList) Run(env *environment) error {
	record, err := c.record(env, http.MethodGet, "/api/limits?limit=100", nil)
	if err != nil || c.JSON {
		return c.print(env, record, err)
	}
	var limits []limitView
	if err := json.Unmarshal(record, &limits); err != nil {
		return fmt.Errorf("reading the service's response: %w", err)
	}
	table := tabwriter.NewWriter(env.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "KEY\tRATE\tPARALLEL\tPAUSED")
	for i := range limits {
		l := &limits[i]
		fmt.Fprintf(table, "%s\t%s\t%s\t%t\n", l.Key, l.rate(), l.parallel(), l.Paused)
	}
	return table.Flush()
}

type limitsShow struct {
	serviceFlags
	Name string `arg:"" name:"key" help:"The limit's key."`
}

// Run prints a limit.
func (c *limitsShow) Run(env *environment) error {
	record, err := c.record(env, http.MethodGet, limitPath(c.Name), nil)
	return c.print(env, record, err)
}

type limitsSet struct {
	serviceFlags
	Name     string        `arg:"" name:"key" help:"The limit's key; host:NAME holds for all jobs to that host."`
	Calls    int           `placeholder:"N" help:"How many attempts may start in a window of length --per."`
	Per      time.Duration `placeholder:"TIME" help:"The window's length, such as 1s, 1m or 24h."`
	Parallel int           `placeholder:"N" help:"How many attempts may be under way at once."`
	Paused   bool          `help:"Hold everything back."`
}

// Validate checks that a rate is given whole.
func (c *limitsSet) Validate(*kong.Context) error {
	if (c.Calls == 0) != (c.Per == 0) {
		return errors.New("--calls and --per go together")
	}
	return nil
}

// Run defines a limit.
func (c *limitsSet) Run(env *environment) error {
	body := map[string]any{"paused": c.Paused}
	if c.Calls != 0 {
		body["rate"] = map[string]any{"calls": c.Calls, "per": c.Per.Seconds()}
	}
	if c.Parallel != 0 {
		body["parallel"] = c.Parallel
	}
	return c.put(env, c.Name, body)
}

// put stores a limit and prints it.
func (c *serviceFlags) put(env *environment, key string, limit any) error {
	body, err := json.Marshal(limit)
	if err != nil {
		return err
	}
	record, err := c.record(env, http.MethodPut, limitPath(key), body)
	return c.print(env, record, err)
}

// setPaused pauses or resumes a limit and keeps the rest of it.
func (c *serviceFlags) setPaused(env *environment, key string, paused bool) error {
	record, err := c.record(env, http.MethodGet, limitPath(key), nil)
	if err != nil {
		return err
	}
	var l limitView
	if err := json.Unmarshal(record, &l); err != nil {
		return fmt.Errorf("reading the service's response: %w", err)
	}
	return c.put(env, key, map[string]any{"rate": l.Rate, "parallel": l.Parallel, "paused": paused})
}

type limitsDelete struct {
	serviceFlags
	Name string `arg:"" name:"key" help:"The limit's key."`
}

// Run deletes a limit.
func (c *limitsDelete) Run(env *environment) error {
	if _, err := c.call(env, http.MethodDelete, limitPath(c.Name), nil, nil); err != nil {
		return err
	}
	_, err := fmt.Fprintf(env.out, "limit %s is deleted\n", c.Name)
	return err
}

type limitsPause struct {
	serviceFlags
	Name string `arg:"" name:"key" help:"The limit's key."`
}

// Run pauses a limit.
func (c *limitsPause) Run(env *environment) error { return c.setPaused(env, c.Name, true) }

type limitsResume struct {
	serviceFlags
	Name string `arg:"" name:"key" help:"The limit's key."`
}

// Run resumes a limit.
func (c *limitsResume) Run(env *environment) error { return c.setPaused(env, c.Name, false) }
