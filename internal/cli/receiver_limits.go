package cli

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/punctual-dev/punctual/client"
	"github.com/punctual-dev/punctual/internal/rawjson"
)

type limitsCommand struct {
	List   limitsList   `cmd:"" help:"List limits for receivers."`
	Show   limitsShow   `cmd:"" help:"Print a limit with what waits for it and what is under way."`
	Set    limitsSet    `cmd:"" help:"Define or replace a limit. What is not given does not limit."`
	Delete limitsDelete `cmd:"" help:"Delete a limit that no unfinished job names."`
	Pause  limitsPause  `cmd:"" help:"Pause a limit: what needs it does not start."`
	Resume limitsResume `cmd:"" help:"Resume a paused limit."`
}

// limitView is a limit as the API shows it.
type limitView struct {
	Key  string `json:"key"`
	Rate *struct {
		Calls int         `json:"calls"`
		Per   json.Number `json:"per"`
	} `json:"rate"`
	Parallel *int `json:"parallel"`
	Ordered  bool `json:"ordered"`
	Paused   bool `json:"paused"`
	// What only a single limit has.
	Waiting  *int64       `json:"waiting"`
	InFlight *int64       `json:"in_flight"`
	Next     *client.Time `json:"next_at"`
	First    *struct {
		Job        int64    `json:"job_id"`
		WaitingFor []string `json:"waiting_for"`
	} `json:"first"`
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

func (l *limitView) id() string { return l.Key }

type limitsList struct {
	serviceFlags
	listFlags
}

// Run lists limits.
func (c *limitsList) Run(env *environment) error {
	records, err := c.list(env, "/api/limits", url.Values{}, c.Limit)
	columns := []column{{title: "KEY", shrink: true}, {title: "RATE"}, {title: "PARALLEL"}, {title: "ORDERED"}, stateColumn("PAUSED")}
	return listing[limitView]{
		id:      (*limitView).id,
		none:    "there are no limits; define one with punctual limits set",
		columns: columns,
		row: func(_ terminal, l *limitView) []string {
			return []string{l.Key, l.rate(), l.parallel(), strconv.FormatBool(l.Ordered), strconv.FormatBool(l.Paused)}
		},
	}.print(&c.displayFlags, env, records, err)
}

type limitsShow struct {
	serviceFlags
	Name string `arg:"" name:"key" help:"The limit's key."`
}

// Run shows a limit.
func (c *limitsShow) Run(env *environment) error {
	record, err := c.record(env, http.MethodGet, limitPath(c.Name), nil)
	return c.printLimit(env, record, err)
}

// printLimit prints a limit, with what it holds back if that is known.
func (c *serviceFlags) printLimit(env *environment, record []byte, err error) error {
	return printOne(&c.displayFlags, env, record, err, (*limitView).id, func(l *limitView) error {
		f := facts{to: c.terminal(env)}
		f.add("limit", l.Key)
		f.add("rate", l.rate())
		f.add("parallel", l.parallel())
		f.add("ordered", strconv.FormatBool(l.Ordered))
		f.add("paused", strconv.FormatBool(l.Paused))
		if l.Waiting != nil {
			f.add("waiting", strconv.FormatInt(*l.Waiting, 10))
		}
		if l.InFlight != nil {
			f.add("in flight", strconv.FormatInt(*l.InFlight, 10))
		}
		if l.Next != nil {
			f.add("next start", f.to.moment(*l.Next))
		}
		if l.First != nil {
			first := "job " + strconv.FormatInt(l.First.Job, 10)
			if len(l.First.WaitingFor) > 0 {
				first += ", waiting for " + strings.Join(l.First.WaitingFor, ", ")
			}
			f.add("first", first)
		}
		return f.print(env.out)
	})
}

type limitsSet struct {
	serviceFlags
	Name     string         `arg:"" name:"key" help:"The limit's key; host:NAME holds for all jobs to that host."`
	Calls    *int           `placeholder:"N" help:"How many attempts may start in a window of length --per."`
	Per      *time.Duration `placeholder:"TIME" help:"The window's length, such as 1s, 1m or 24h."`
	Parallel *int           `placeholder:"N" help:"How many attempts may be under way at once."`
	Ordered  bool           `type:"switch" help:"Start jobs in the order of their due times, then of their creation."`
	Paused   bool           `type:"switch" help:"Start nothing that needs the limit."`
	File     string         `short:"f" placeholder:"FILE" help:"A JSON or YAML file with fields of the API; - for standard input. Other flags replace its fields."`
}

// Run defines a limit.
func (c *limitsSet) Run(env *environment) error {
	if (c.Calls == nil) != (c.Per == nil) {
		return failed(statusUsage, "--calls and --per go together")
	}
	members, err := readFields(env, c.File)
	if err != nil {
		return err
	}
	members = withoutFields(members, "key", "waiting", "in_flight", "next_at", "first") // what limits show --json prints besides
	if c.Calls != nil {
		rate := fmt.Sprintf(`{"calls":%d,"per":%s}`, *c.Calls, strconv.FormatFloat(c.Per.Seconds(), 'f', -1, 64))
		members = setField(members, "rate", rawjson.Value(rate))
	}
	if c.Parallel != nil {
		members = setField(members, "parallel", rawjson.Value(strconv.Itoa(*c.Parallel)))
	}
	if c.Ordered {
		members = setField(members, "ordered", rawjson.Value("true"))
	}
	if c.Paused {
		members = setField(members, "paused", rawjson.Value("true"))
	}
	return c.put(env, c.Name, rawjson.Object(members))
}

// put stores a limit and prints it.
func (c *serviceFlags) put(env *environment, key string, body []byte) error {
	record, err := c.record(env, http.MethodPut, limitPath(key), body)
	return c.printLimit(env, record, err)
}

// setPaused pauses or resumes a limit and keeps the rest of it.
func (c *serviceFlags) setPaused(env *environment, key string, paused bool) error {
	record, err := c.record(env, http.MethodGet, limitPath(key), nil)
	if err != nil {
		return err
	}
	l, err := decoded[limitView](record)
	if err != nil {
		return err
	}
	body, err := json.Marshal(map[string]any{"rate": l.Rate, "parallel": l.Parallel, "ordered": l.Ordered, "paused": paused})
	if err != nil {
		return err
	}
	return c.put(env, key, body)
}

type limitsDelete struct {
	serviceFlags
	Names []string `arg:"" name:"key" help:"The limits' keys."`
}

// Run deletes limits.
func (c *limitsDelete) Run(env *environment) error {
	return c.deleteAll(env, "limit", c.Names, limitPath)
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
