package qstash

import (
	"encoding/base32"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/limit"
	"github.com/punctual-dev/punctual/internal/service"
)

// encodedKey begins the keys of limits whose names would not fit.
const encodedKey = "flow:"

var keyEncoding = base32.HexEncoding.WithPadding(base32.NoPadding)

// limitKey returns the key of the limit for a flow control key: the same, if it can be a
// limit's key and means nothing else as one, or encoded.
func limitKey(name string) string {
	if limit.ValidName(name) && !strings.HasPrefix(name, encodedKey) && !strings.HasPrefix(name, queuePrefix) &&
		!strings.HasPrefix(name, limit.HostPrefix) {
		return name
	}
	return encodedKey + keyEncoding.EncodeToString([]byte(name))
}

// queuePrefix begins the keys of the limits that are queues.
const queuePrefix = "queue:"

// flowName returns the flow control key of a limit. ok is false if the limit is none.
func flowName(key string) (name string, ok bool) {
	if strings.HasPrefix(key, queuePrefix) || strings.HasPrefix(key, limit.HostPrefix) {
		return "", false
	}
	encoded, isEncoded := strings.CutPrefix(key, encodedKey)
	if !isEncoded {
		return key, true
	}
	text, err := keyEncoding.DecodeString(encoded)
	return string(text), err == nil
}

// definedLimits remembers for a short time which limits were defined, so that a program
// that sends the same with each message does not read them each time.
type definedLimits struct {
	mu    sync.Mutex
	known map[definedKey]definedAs
}

type definedKey struct {
	account int64
	key     string
}

// definedAs is how a limit was defined last.
type definedAs struct {
	limit limit.Limit
	at    time.Time
}

const (
	limitsRemembered = time.Second
	maxRemembered    = 10_000
)

func (d *definedLimits) has(k definedKey, l limit.Limit, now time.Time) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	known, ok := d.known[k]
	return ok && known.limit == l && now.Sub(known.at).Abs() < limitsRemembered
}

func (d *definedLimits) add(k definedKey, l limit.Limit, now time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.known == nil || len(d.known) >= maxRemembered {
		d.known = map[definedKey]definedAs{}
	}
	d.known[k] = definedAs{l, now}
}

// forget forgets a limit that a call has changed.
func (d *definedLimits) forget(account int64, key string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.known, definedKey{account, key})
}

// define defines the limit of a message's flow control key.
func (c *call) define(o *Options) error {
	if o.Queue != "" {
		if err := c.queued(c.Request.Context(), o.Queue); err != nil {
			return err
		}
	}
	if o.FlowControl == "" {
		return nil
	}
	key := limitKey(o.FlowControl)
	if !limit.ValidName(key) {
		return longKey(o.FlowControl)
	}
	which := definedKey{c.Owner.Number, key}
	now := c.api.Service.Now()
	if c.api.limits.has(which, o.Flow, now) {
		return nil
	}
	if err := c.api.Service.DefineLimit(c.Request.Context(), c.Owner, key, o.Flow); err != nil {
		return err
	}
	c.api.limits.add(which, o.Flow, now)
	return nil
}

func longKey(name string) error {
	return bad("the flow control key " + strconv.Quote(name) +
		" is too long: it may have 64 letters, digits and the characters . _ - or 36 bytes of others")
}

// flow is a flow control key as clients see it.
type flow struct {
	Key             string `json:"flowControlKey"`
	WaitListSize    int    `json:"waitListSize"`
	ParallelismMax  int    `json:"parallelismMax"`
	Parallelism     int    `json:"parallelismCount"`
	RateMax         int    `json:"rateMax"`
	Rate            int    `json:"rateCount"`
	RatePeriod      int64  `json:"ratePeriod"`
	RatePeriodStart int64  `json:"ratePeriodStart"`
	Paused          bool   `json:"isPaused"`
	PinnedParallel  bool   `json:"isPinnedParallelism"`
	PinnedRate      bool   `json:"isPinnedRate"`
}

func flowOf(name string, use *limit.Use, now time.Time) flow {
	f := flow{
		Key: name, WaitListSize: use.Waiting, ParallelismMax: use.Parallel, Parallelism: use.InFlight, RateMax: use.Calls,
		Rate: use.Started, Paused: use.Paused,
		PinnedRate: use.Floating&limit.FloatRate == 0, PinnedParallel: use.Floating&limit.FloatParallel == 0,
	}
	if use.Calls > 0 {
		f.RatePeriod = int64((use.Per + time.Second - 1) / time.Second)
		f.RatePeriodStart = now.Add(-use.Per).Unix()
	}
	return f
}

// maxFlows is how many flow control keys a list has with what waits under them.
const maxFlows = limit.MaxPerAccount

func (c *call) listFlow() error {
	ctx := c.Request.Context()
	records, err := c.api.Service.Limits(ctx, c.Owner, "", maxFlows)
	if err != nil {
		return err
	}
	list := []flow{}
	for _, record := range records {
		name, ok := flowName(record.Key)
		if !ok || record.Dialect != "" { // a queue of another API
			continue
		}
		use, err := c.api.Service.Limit(ctx, c.Owner, record.Key)
		if fault.CodeOf(err) == fault.NotFound && err != nil {
			continue // it was deleted just now
		}
		if err != nil {
			return err
		}
		list = append(list, flowOf(name, use.Use, c.api.Service.Now()))
	}
	return c.write(list)
}

func (c *call) getFlow() error {
	step, _, _ := strings.Cut(c.values[0], "?")
	name := unescaped(step) // clients send a key as it is, with its slashes
	use, err := c.api.Service.Limit(c.Request.Context(), c.Owner, limitKey(name))
	if err != nil {
		return noFlow(err, name)
	}
	return c.write(flowOf(name, use.Use, c.api.Service.Now()))
}

func noFlow(err error, name string) error {
	if fault.CodeOf(err) == fault.NotFound {
		return fault.New(fault.NotFound, "flow control key "+strconv.Quote(name)+" not found")
	}
	return err
}

func (c *call) globalParallelism() error {
	return c.write(struct {
		Max   int `json:"parallelismMax"`
		Count int `json:"parallelismCount"`
	}{c.api.Concurrency, c.api.InUse()})
}

// changeFlow pauses, resumes, pins, unpins or resets a flow control key.
func (c *call) changeFlow() error {
	path, _, _ := strings.Cut(c.values[0], "?")
	end := max(0, strings.LastIndexByte(path, '/'))
	name := unescaped(path[:end])
	key := limitKey(name)
	query, err := url.ParseQuery(c.Request.URL.RawQuery)
	if err != nil {
		return bad("the query can't be decoded")
	}
	change, err := limitChange(strings.TrimPrefix(path[end:], "/"), query)
	if err != nil {
		return err
	}
	ctx := c.Request.Context()
	err = c.api.Service.ChangeLimit(ctx, c.Owner, key, change)
	if err != nil && fault.CodeOf(err) == fault.NotFound &&
		(change.Paused != nil && *change.Paused || change.Calls != nil || change.Parallel != nil) {
		// A key may be pinned or paused before the first message has it, which then defines
		// what is not pinned.
		if !limit.ValidName(key) {
			return longKey(name)
		}
		free := limit.Limit{Floating: limit.FloatRate | limit.FloatParallel}
		if err = c.api.Service.EnsureLimit(ctx, c.Owner, limit.Record{Key: key, Limit: free}); err == nil {
			err = c.api.Service.ChangeLimit(ctx, c.Owner, key, change)
		}
	}
	if err != nil {
		return noFlow(err, name)
	}
	c.api.limits.forget(c.Owner.Number, key)
	return c.done()
}

// limitChange returns the change that a call asks for.
func limitChange(what string, query url.Values) (change service.LimitChange, err error) {
	yes, no := true, false
	switch what {
	case "pause":
		change.Paused = &yes
	case "resume":
		change.Paused = &no
	case "resetRate":
		change.Reset = true
	case "pin":
		err = readPin(query, &change)
	case "unpin":
		for name, part := range map[string]int{"rate": limit.FloatRate, "parallelism": limit.FloatParallel} {
			if query.Get(name) == "true" {
				change.Unpin |= part
			}
		}
		if change.Unpin == 0 {
			err = bad("unpin needs rate=true or parallelism=true")
		}
	default:
		err = fault.New(fault.NotFound, "there is no such call of a flow control key")
	}
	return change, err
}

// readPin reads the values that are pinned.
func readPin(query url.Values, change *service.LimitChange) error {
	r := &reader{parameter: true}
	if text := query.Get("parallelism"); text != "" {
		n := r.count("parallelism", text, limit.MaxParallel)
		change.Parallel = &n
	}
	if text := query.Get("rate"); text != "" {
		n := r.count("rate", text, limit.MaxCalls)
		change.Calls, change.Per = &n, time.Second
	}
	if text := query.Get("period"); text != "" {
		seconds, err := strconv.Atoi(text)
		if change.Per = time.Duration(seconds) * time.Second; err != nil || change.Calls == nil || change.Per < limit.MinPer ||
			change.Per > limit.MaxPer {
			return bad("period must be a number of seconds up to 31 days, with a rate")
		}
	}
	if change.Parallel == nil && change.Calls == nil && r.problem == "" {
		return bad("pin needs a rate or a parallelism")
	}
	return r.err()
}
