package qstash

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/punctual-dev/punctual/internal/edge"
	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/lifecycle"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/service"
)

// Bounds of requests, in bytes.
const (
	maxBody  = 1 << 20
	maxBatch = 8 << 20
)

// published is a message that was stored, or the one that it repeats.
type published struct {
	MessageID    string `json:"messageId"`
	URL          string `json:"url,omitempty"`
	Deduplicated bool   `json:"deduplicated,omitempty"`
	Error        string `json:"error,omitempty"` // of an item of a batch
}

// destination is where a message goes: a URL, or the name of a group.
type destination struct{ url, group string }

// providers are destinations for which that API calls other services itself.
var providers = map[string]string{"llm": "language models (api/llm)", "email": "e-mail (api/email)"}

// readDestination reads a destination as it stands in a path.
func readDestination(text string) (destination, error) {
	for _, scheme := range []string{"https:", "http:"} {
		rest, ok := strings.CutPrefix(text, scheme)
		if !ok {
			continue
		}
		return destination{url: scheme + "//" + strings.TrimLeft(rest, "/")}, nil // proxies may have merged slashes
	}
	name, query, _ := strings.Cut(text, "?")
	name, err := url.PathUnescape(strings.TrimSuffix(name, "/"))
	if err != nil {
		return destination{}, bad("invalid destination url: it can't be decoded")
	}
	if strings.HasPrefix(name, "https://") || strings.HasPrefix(name, "http://") { // encoded as a whole
		if query != "" {
			name += "?" + query
		}
		return destination{url: name}, nil
	}
	if provider, ok := strings.CutPrefix(name, "api/"); ok {
		what := providers[provider]
		if what == "" {
			what = provider
		}
		return destination{}, noProvider(what)
	}
	if strings.Contains(name, "/") || strings.Contains(name, ":") || name == "" {
		return destination{}, bad("invalid destination url: " + strconv.Quote(name) +
			" must begin with https:// or http://, or be the name of a URL group")
	}
	return destination{group: name}, nil
}

// noProvider returns the fault for what that API has other services do.
func noProvider(what string) error {
	return bad("the provider for " + what + " is not available here; publish to the provider's own URL, with its key in Upstash-Forward-Authorization")
}

// message is a message to be stored.
type message struct {
	*Options
	to   destination
	body []byte
}

// prepare checks what the core would say in words of its own.
func (m *message) prepare() error {
	if m.Retries > job.MaxRetries {
		return fault.New(fault.Stale, "retries must be at most "+strconv.Itoa(job.MaxRetries)+", not "+strconv.Itoa(m.Retries))
	}
	return nil
}

// dialect returns the dialect of the message.
func (m *message) dialect(callerIP string) *job.Dialect {
	return &job.Dialect{
		API: job.DialectQStash, Callback: m.Callback, FailureCallback: m.Failure, Labels: m.Labels, CallerIP: callerIP,
		FlowControl: m.FlowControl, Queue: m.Queue, Group: m.to.group,
	}
}

// create returns the body of the create request for the message.
func (m *message) create(callerIP string) rawjson.Value {
	f := fields{make(rawjson.Fields, 0, 16)}
	m.to.add(&f)
	m.describe(&f, callerIP)
	f.timing(m.Options)
	f.dedup(m.Options, m.to.url+m.to.group, m.body)
	return f.Object()
}

// add adds the field of a destination.
func (d destination) add(f *fields) {
	if d.group != "" {
		f.Text("group", d.group)
	} else {
		f.Text("url", d.url)
	}
}

// describe adds what messages and schedules have in common.
func (m *message) describe(f *fields, callerIP string) {
	f.request(m.Options)
	f.body(m.body)
	f.tags(m.Labels)
	if m.Redact != nil {
		f.Texts("redact", m.Redact)
	}
	var limits []string
	if m.FlowControl != "" {
		limits = append(limits, limitKey(m.FlowControl))
	}
	if m.Queue != "" {
		limits = append(limits, queuePrefix+m.Queue)
	}
	if limits != nil {
		f.Texts("limits", limits)
	}
	f.Add("dialect", m.dialect(callerIP).Value())
}

func (c *call) callerIP() string {
	if from := edge.ClientAddr(c.Request); from.IsValid() {
		return from.String()
	}
	return ""
}

// read reads a message from a request.
func (c *call) read(to string) (*message, error) {
	options, err := ReadOptions(c.Request.Header)
	if err != nil {
		return nil, err
	}
	m := &message{Options: options}
	if m.to, err = readDestination(to); err != nil {
		return nil, err
	}
	if m.body, err = c.ReadAll(maxBody); err != nil {
		return nil, err
	}
	return m, m.prepare()
}

// publish stores a message, or a schedule if it has a cron expression.
func (c *call) publish() error {
	m, err := c.read(c.values[0])
	if header := c.Request.Header; err != nil && header.Get(runIDHeader) != "" {
		return refusalOf(err, startsRun(header.Get))
	}
	if err != nil {
		return err
	}
	return c.store(m)
}

func (c *call) store(m *message) error {
	if m.inWorkflow() {
		result, err := c.storeInRun([]*message{m})
		if err != nil {
			return err
		}
		return c.writeRaw(appendPublished(nil, &result[0]))
	}
	if m.Cron != "" {
		return c.storeSchedule(m)
	}
	if m.to.group != "" {
		all, err := c.publishToGroup(m)
		if err != nil {
			return err
		}
		return c.writeRaw(appendAll(nil, all))
	}
	if err := c.define(m.Options); err != nil {
		return err
	}
	j, conflict, err := c.api.Service.Create(c.Request.Context(), c.Owner, m.create(c.callerIP()), nil)
	if err != nil {
		return err
	}
	c.ForeignCall.Created(j.Number)
	return c.writeRaw(appendPublished(nil, &published{MessageID: lifecycle.MessageID(j.ID), URL: m.to.url, Deduplicated: conflict}))
}

func appendPublished(b []byte, p *published) []byte {
	b = rawjson.AppendText(append(b, `{"messageId":`...), p.MessageID)
	if p.URL != "" {
		b = rawjson.AppendText(append(b, `,"url":`...), p.URL)
	}
	if p.Deduplicated {
		b = append(b, `,"deduplicated":true`...)
	}
	if p.Error != "" {
		b = rawjson.AppendText(append(b, `,"error":`...), p.Error)
	}
	return append(b, '}')
}

// batchItem is an item of a batch as it is sent.
type batchItem struct {
	Destination string            `json:"destination"`
	Headers     map[string]string `json:"headers"`
	Body        itemBody          `json:"body"`
	Queue       string            `json:"queue"`
}

// itemBody is the body of an item: a text, or JSON that is sent as it is.
type itemBody []byte

// UnmarshalJSON implements json.Unmarshaler.
func (b *itemBody) UnmarshalJSON(text []byte) error {
	switch text[0] {
	case 'n':
		*b = nil
	case '"':
		var s string
		if err := json.Unmarshal(text, &s); err != nil {
			return err
		}
		*b = itemBody(s)
	default:
		*b = slices.Clone(text)
	}
	return nil
}

// batch stores several messages in one transaction. An item that can't be stored gets an
// error of its own.
func (c *call) batch() error {
	items, err := c.readBatch()
	if err != nil {
		return err
	}
	return c.storeBatch(items)
}

// readBatch reads the items of a batch, and charges them.
func (c *call) readBatch() ([]batchItem, error) {
	text, err := c.ReadAll(maxBatch)
	if err != nil {
		return nil, err
	}
	leave, err := c.EnterParsing(len(text))
	if err != nil {
		return nil, err
	}
	var items []batchItem
	err = json.Unmarshal(text, &items)
	leave()
	if err != nil {
		return nil, bad("the body must be a JSON array of messages, each with a destination: " + err.Error())
	}
	if len(items) == 0 || len(items) > service.MaxBatch {
		err := bad("a batch must have 1 to " + strconv.Itoa(service.MaxBatch) + " messages")
		return nil, refusalOf(err, !slices.ContainsFunc(items, func(item batchItem) bool { return item.isStep() }))
	}
	return items, c.Charge(len(items))
}

// readItem reads an item of a batch.
func readItem(item *batchItem) (*message, error) {
	header := make(http.Header, len(item.Headers))
	for name, value := range item.Headers {
		header.Add(name, value)
	}
	options, err := ReadOptions(header)
	if err != nil {
		return nil, err
	}
	if item.Queue != "" {
		options.Queue = item.Queue
	}
	m := &message{Options: options, body: item.Body}
	if m.to, err = readDestination(item.Destination); err != nil {
		return nil, err
	}
	return m, m.prepare()
}

// storeBatch stores the messages of a batch. Those for URLs are stored in one transaction,
// and then those for each group in another.
func (c *call) storeBatch(items []batchItem) error {
	results := make([][]published, len(items))
	groups := map[int]*message{}
	var creates []service.BatchItem
	var places []int // of creates among the items
	ip := c.callerIP()
	inRuns, err := c.storeBatchInRuns(items, results)
	if err != nil {
		return err
	}
	for i := range items {
		if inRuns[i] {
			continue
		}
		m, err := readItem(&items[i])
		if err == nil && m.Cron != "" {
			err = bad("a schedule can't be created in a batch; leave out Upstash-Cron")
		}
		if err == nil && m.to.group != "" {
			groups[i] = m
			continue
		}
		if err == nil {
			err = c.define(m.Options)
		}
		if err != nil {
			results[i] = []published{{Error: said(err)}}
			continue
		}
		results[i] = []published{{URL: m.to.url}}
		creates, places = append(creates, service.BatchItem{Body: m.create(ip)}), append(places, i)
	}
	stored, err := c.storeCreates(creates)
	if err != nil {
		return err
	}
	for k, one := range stored {
		if to := &results[places[k]][0]; one.Err != nil {
			*to = published{Error: said(one.Err)}
		} else {
			to.MessageID, to.Deduplicated = lifecycle.MessageID(one.Job.ID), one.Conflict
		}
	}
	c.storeGroups(groups, results, len(creates))
	body := []byte{'['}
	for i := range results {
		if i > 0 {
			body = append(body, ',')
		}
		if groups[i] != nil {
			body = appendAll(body, results[i])
		} else {
			body = appendPublished(body, &results[i][0])
		}
	}
	return c.writeRaw(append(body, ']'))
}

// storeCreates stores the messages of a batch that go to one URL each.
func (c *call) storeCreates(creates []service.BatchItem) ([]service.BatchResult, error) {
	if len(creates) == 0 {
		return nil, nil
	}
	b, err := c.api.Service.ReadBatch(c.Request.Context(), c.Owner, creates, false, true)
	if err != nil {
		return nil, err
	}
	return c.api.Service.CreateBatch(c.Request.Context(), b)
}

// storeGroups stores the messages of a batch that are for groups. messages is how many
// others it has: they are as many together as a batch without groups can have.
func (c *call) storeGroups(groups map[int]*message, results [][]published, messages int) {
	for _, i := range slices.Sorted(maps.Keys(groups)) {
		m := groups[i]
		g, err := c.topic(c.Request.Context(), m.to.group)
		if err == nil {
			if messages += len(g.TargetList()); messages > service.MaxBatch {
				err = bad("a batch must have at most " + strconv.Itoa(service.MaxBatch) +
					" messages, with one for each endpoint of its topics")
			}
		}
		if err == nil {
			results[i], err = c.publishToGroup(m)
		}
		if err != nil {
			text := "the message could not be stored; try again shortly"
			if fault.CodeOf(err) != fault.Internal {
				text = said(err)
			}
			results[i] = []published{{Error: text}}
		}
	}
}

func (c *call) enqueue() error {
	m, err := c.read(c.values[1])
	if err != nil {
		return err
	}
	m.Queue = c.values[0]
	return c.store(m)
}
