package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/punctual-dev/punctual/client"
	"github.com/punctual-dev/punctual/internal/rawjson"
)

type groupsCommand struct {
	List   groupsList   `cmd:"" help:"List groups of targets."`
	Show   groupsShow   `cmd:"" help:"Print a group with its targets."`
	Set    groupsSet    `cmd:"" help:"Define a group, or replace its targets."`
	Delete groupsDelete `cmd:"" help:"Delete a group that no schedule names."`
}

func groupName(g *client.Group) string { return g.Name }

func groupPath(name string) string { return "/api/groups/" + url.PathEscape(name) }

type groupsList struct {
	serviceFlags
	listFlags
}

// Run lists groups.
func (c *groupsList) Run(env *environment) error {
	records, err := c.list(env, "/api/groups", url.Values{}, c.Limit)
	columns := []column{{title: "NAME", shrink: true}, {title: "TARGETS"}}
	return listing[client.Group]{
		id:      groupName,
		none:    "there are no groups; define one with punctual groups set",
		columns: columns,
		row:     func(_ terminal, g *client.Group) []string { return []string{g.Name, strconv.Itoa(len(g.Targets))} },
	}.print(&c.displayFlags, env, records, err)
}

type groupsShow struct {
	serviceFlags
	Name string `arg:"" help:"The group's name."`
}

// Run shows a group.
func (c *groupsShow) Run(env *environment) error {
	record, err := c.record(env, http.MethodGet, groupPath(c.Name), nil)
	return c.printGroup(env, record, err)
}

func (c *serviceFlags) printGroup(env *environment, record []byte, err error) error {
	return printOne(&c.displayFlags, env, record, err, groupName, func(g *client.Group) error {
		f := facts{to: c.terminal(env)}
		f.add("group", g.Name)
		for _, t := range g.Targets {
			f.add("target", t.Name+" "+t.URL)
		}
		return f.print(env.out)
	})
}

type groupsSet struct {
	serviceFlags
	Name    string   `arg:"" help:"The group's name."`
	Targets []string `arg:"" optional:"" name:"target" help:"The targets, each as NAME=URL."`
	File    string   `short:"f" placeholder:"FILE" help:"A JSON or YAML file with targets, as the API takes them; - for standard input."`
}

// Run defines a group.
func (c *groupsSet) Run(env *environment) error {
	if (c.File == "") == (len(c.Targets) == 0) {
		return failed(statusUsage, "give the targets, each as NAME=URL, or --file FILE")
	}
	members, err := readFields(env, c.File)
	if err != nil {
		return err
	}
	members = withoutFields(members, "name", "inserted_at", "updated_at", "revision") // what groups show --json prints besides
	if len(c.Targets) > 0 {
		targets, err := targetsOf(c.Targets)
		if err != nil {
			return err
		}
		members = setField(members, "targets", targets)
	}
	record, err := c.record(env, http.MethodPut, groupPath(c.Name), rawjson.Object(members))
	return c.printGroup(env, record, err)
}

// targetsOf reads targets that were given as NAME=URL.
func targetsOf(texts []string) (rawjson.Value, error) {
	var targets []rawjson.Value
	for _, text := range texts {
		name, target, found := strings.Cut(text, "=")
		if !found {
			return nil, failed(statusUsage, "%s is no target; give it as NAME=URL", text)
		}
		targets = append(targets, rawjson.Object([]rawjson.Member{{Name: "name", Value: rawjson.Quote(name)},
			{Name: "url", Value: rawjson.Quote(target)}}))
	}
	return rawjson.Array(targets), nil
}

type groupsDelete struct {
	serviceFlags
	Names []string `arg:"" name:"name" help:"The groups' names."`
}

// Run deletes groups.
func (c *groupsDelete) Run(env *environment) error {
	return c.deleteAll(env, "group", c.Names, groupPath)
}

// printGroupJobs prints the jobs that a request with a group has created.
func (c *serviceFlags) printGroupJobs(env *environment, records []byte, repeated bool) error {
	if c.JSON {
		return c.print(env, records, nil)
	}
	var jobs []client.JobRecord
	if err := json.Unmarshal(records, &jobs); err != nil {
		return unreadable(err)
	}
	if len(jobs) == 0 {
		return errors.New("the service has created no job")
	}
	for i := range jobs {
		text := jobNumber(&jobs[i])
		if !c.Quiet {
			text = fmt.Sprintf("job %d is due %s", jobs[i].JobID, c.terminal(env).moment(jobs[i].Job.ScheduledAt))
			if jobs[i].Job.HasConflict {
				text = found(&jobs[i], repeated)
			}
		}
		if _, err := fmt.Fprintln(env.out, text); err != nil {
			return err
		}
	}
	return nil
}
