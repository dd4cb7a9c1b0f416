package qstash

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/lifecycle"
	"github.com/punctual-dev/punctual/internal/pause"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/service"
)

// endpoint is a target of a URL group as clients give it and see it.
type endpoint struct {
	Name string `json:"name,omitempty"`
	URL  string `json:"url"`
}

// shownTopic is a URL group as clients see it.
type shownTopic struct {
	CreatedAt int64      `json:"createdAt"`
	UpdatedAt int64      `json:"updatedAt"`
	Name      string     `json:"name"`
	Endpoints []endpoint `json:"endpoints"`
}

// topicsPart is how many groups are read at once, topicsBytes how many bytes a list has.
const (
	topicsPart  = 50
	topicsBytes = 4 << 20
)

// nameOf returns the name of a target whose endpoint has none: targets need one.
func nameOf(url string) string {
	sum := sha256.Sum256([]byte(url))
	return "url-" + hex.EncodeToString(sum[:12])
}

// endpointsOf returns the endpoints of a group.
func endpointsOf(g *job.Group) []endpoint {
	var all []endpoint
	for _, target := range rawjson.Elements(g.Targets) {
		e := endpoint{Name: rawjson.Text(rawjson.Get(target, "name")), URL: rawjson.Text(rawjson.Get(target, "url"))}
		if e.Name == nameOf(e.URL) {
			e.Name = ""
		}
		all = append(all, e)
	}
	return all
}

func noTopic(name string) error { return fault.New(fault.NotFound, "topic "+name+" not found") }

// topic returns a group; its error is for clients.
func (c *call) topic(ctx context.Context, name string) (*job.Group, error) {
	g, err := c.api.Service.Group(ctx, c.Owner, name)
	if err != nil && fault.CodeOf(err) == fault.NotFound {
		return nil, noTopic(name)
	}
	return g, err
}

func showTopic(g *job.Group) shownTopic {
	return shownTopic{CreatedAt: g.InsertedAt.UnixMilli(), UpdatedAt: g.UpdatedAt.UnixMilli(), Name: g.Name, Endpoints: endpointsOf(g)}
}

func (c *call) listTopics() error {
	shown, after, size := []shownTopic{}, "", 0
	for more := true; more; {
		found, err := c.api.Service.Groups(c.Request.Context(), c.Owner, after, topicsPart)
		if err != nil {
			return err
		}
		more = len(found) == topicsPart
		for _, g := range found {
			after = g.Name
			if size += g.Size(); size > topicsBytes && len(shown) > 0 {
				return c.write(shown)
			}
			shown = append(shown, showTopic(g))
		}
	}
	return c.write(shown)
}

func (c *call) getTopic() error {
	g, err := c.topic(c.Request.Context(), c.values[0])
	if err != nil {
		return err
	}
	return c.write(showTopic(g))
}

func (c *call) deleteTopic() error {
	if err := c.dropTopic(c.values[0], service.Match{}); err != nil {
		return err
	}
	return c.done()
}

func (c *call) dropTopic(name string, match service.Match) error {
	err := c.api.Service.DeleteGroup(c.Request.Context(), c.Owner, name, match)
	if err != nil && fault.CodeOf(err) == fault.NotFound {
		return noTopic(name)
	}
	return err
}

// topicTries is how often a change of a topic is computed: others may change it between
// the read and the write. One of several changes at once is always stored.
const topicTries = 40

// changeTopic replaces the targets of a topic by what change returns for them; nil if there
// is no topic. The topic is deleted if none remain.
func (c *call) changeTopic(change func(targets []rawjson.Value) ([]rawjson.Value, error)) error {
	ctx, name := c.Request.Context(), c.values[0]
	for try := range topicTries {
		g, err := c.topic(ctx, name)
		match, targets := service.Match{None: true}, []rawjson.Value(nil)
		switch {
		case err == nil:
			match = service.Match{Given: true, Revisions: []int64{g.Revision()}}
			targets = rawjson.Elements(g.Targets)
		case fault.CodeOf(err) != fault.NotFound:
			return err
		}
		if targets, err = change(targets); err != nil {
			return err
		}
		if len(targets) > 0 {
			body := rawjson.Object([]rawjson.Member{{Name: "targets", Value: rawjson.Array(targets)}})
			_, _, err = c.api.Service.SetGroup(ctx, c.Owner, name, body, match)
		} else {
			err = c.dropTopic(name, match)
		}
		if err == nil {
			return c.done()
		}
		if fault.CodeOf(err) != fault.Stale {
			return err
		}
		if !pause.For(ctx, rand.N(time.Duration(try+1)*time.Millisecond)) { // so that others are not met again
			return ctx.Err()
		}
	}
	return &fault.Error{Code: fault.Unavailable, Message: "other calls are changing this topic; nothing was changed, try again shortly",
		RetryAfter: time.Second}
}

// readEndpoints reads the body of a call that adds or removes endpoints.
func (c *call) readEndpoints() ([]endpoint, error) {
	text, err := c.ReadAll(maxQueueBody)
	if err != nil {
		return nil, err
	}
	leave, err := c.EnterParsing(len(text))
	if err != nil {
		return nil, err
	}
	defer leave()
	var given struct {
		Endpoints []endpoint `json:"endpoints"`
	}
	if err := json.Unmarshal(text, &given); err != nil || len(given.Endpoints) == 0 {
		return nil, bad("the body must be a JSON object with endpoints, each with a name and a url")
	}
	if len(given.Endpoints) > job.MaxTargets {
		return nil, bad("a topic has at most " + strconv.Itoa(job.MaxTargets) + " endpoints")
	}
	return given.Endpoints, nil
}

// targetOf returns the place of an endpoint among targets: the one with its name, or with
// its url if it has no name; -1 if there is none.
func targetOf(targets []rawjson.Value, e endpoint) int {
	return slices.IndexFunc(targets, func(t rawjson.Value) bool {
		if e.Name != "" {
			return rawjson.Text(rawjson.Get(t, "name")) == e.Name
		}
		return rawjson.Text(rawjson.Get(t, "url")) == e.URL
	})
}

// addEndpoints adds endpoints to a group, which it creates if it is new. One with the name
// of another takes its place. Headers that the group's targets have by the service's own
// API stay.
func (c *call) addEndpoints() error {
	given, err := c.readEndpoints()
	if err != nil {
		return err
	}
	return c.changeTopic(func(targets []rawjson.Value) ([]rawjson.Value, error) { return withEndpoints(targets, given), nil })
}

// withEndpoints returns targets with endpoints added, or in place of others.
func withEndpoints(targets []rawjson.Value, given []endpoint) []rawjson.Value {
	for _, e := range given {
		target := fields{}
		at := targetOf(targets, e)
		if e.Name == "" {
			e.Name = nameOf(e.URL)
			if at >= 0 {
				continue
			}
			at = targetOf(targets, e)
		}
		target.Text("name", e.Name)
		target.Text("url", e.URL)
		if at < 0 {
			targets = append(targets, target.Object())
			continue
		}
		if headers := rawjson.Get(targets[at], "headers"); headers != nil {
			target.Add("headers", headers)
		}
		targets[at] = target.Object()
	}
	return targets
}

// removeEndpoints removes endpoints from a group, and the group with the last one.
func (c *call) removeEndpoints() error {
	given, err := c.readEndpoints()
	if err != nil {
		return err
	}
	return c.changeTopic(func(targets []rawjson.Value) ([]rawjson.Value, error) {
		if targets == nil {
			return nil, noTopic(c.values[0])
		}
		for _, e := range given {
			if at := targetOf(targets, e); at >= 0 {
				targets = slices.Delete(targets, at, at+1)
			}
		}
		return targets, nil
	})
}

// publishToGroup stores a message for each endpoint of a group, in one transaction.
func (c *call) publishToGroup(m *message) ([]published, error) {
	ctx := c.Request.Context()
	if _, err := c.topic(ctx, m.to.group); err != nil {
		return nil, err
	}
	if err := c.define(m.Options); err != nil {
		return nil, err
	}
	created, err := c.api.Service.CreateAll(ctx, c.Owner, m.create(c.callerIP()), nil, c.Charge)
	if err != nil {
		return nil, err
	}
	c.ForeignCall.Created(created.Jobs[0].Number)
	all := make([]published, len(created.Jobs))
	for i, j := range created.Jobs {
		all[i] = published{MessageID: lifecycle.MessageID(j.ID), URL: rawjson.Text(rawjson.Get(j.Args, "url")),
			Deduplicated: created.Conflict}
	}
	return all, nil
}

func appendAll(b []byte, all []published) []byte {
	b = append(b, '[')
	for i := range all {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendPublished(b, &all[i])
	}
	return append(b, ']')
}
