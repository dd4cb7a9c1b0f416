package qstash

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/limit"
)

// shownQueue is a queue as clients see it.
type shownQueue struct {
	Name        string `json:"name"`
	CreatedAt   int64  `json:"createdAt"` // limits have no times
	UpdatedAt   int64  `json:"updatedAt"`
	Parallelism int    `json:"parallelism"`
	Lag         int    `json:"lag"`
	Paused      bool   `json:"paused"`
}

// maxQueueBody bounds the requests that define queues and groups, in bytes.
const maxQueueBody = 1 << 20

const badQueue = "queue name is invalid: it may contain alphanumeric characters, hyphens, periods and underscores only, 58 at most"

// queueKey returns the key of the limit that is a queue.
func queueKey(name string) (string, error) {
	key := queuePrefix + name
	if !isName(name) || !limit.ValidName(key) {
		return "", bad(badQueue)
	}
	return key, nil
}

func noQueue(err error, name string) error {
	if err != nil && fault.CodeOf(err) == fault.NotFound {
		return fault.New(fault.NotFound, "queue "+strconv.Quote(name)+" not found")
	}
	return err
}

// queued makes sure that the queue of a message exists, with a parallelism of 1 if it is
// new.
func (c *call) queued(ctx context.Context, name string) error {
	key, err := queueKey(name)
	if err != nil {
		return err
	}
	which := definedKey{c.Owner.Number, key}
	now := c.api.Service.Now()
	if c.api.limits.has(which, limit.Limit{}, now) {
		return nil
	}
	if err := c.api.Service.EnsureLimit(ctx, c.Owner, limit.Record{Key: key, Limit: limit.Limit{Parallel: 1, Ordered: true}}); err != nil {
		return err
	}
	c.api.limits.add(which, limit.Limit{}, now)
	return nil
}

// putQueue creates a queue or changes one.
func (c *call) putQueue() error {
	text, err := c.ReadAll(maxQueueBody)
	if err != nil {
		return err
	}
	given := struct {
		QueueName   string `json:"queueName"`
		Parallelism *int   `json:"parallelism"`
		Paused      bool   `json:"paused"`
	}{}
	if err := json.Unmarshal(text, &given); err != nil {
		return bad("the body must be a JSON object with queueName and parallelism")
	}
	key, err := queueKey(given.QueueName)
	if err != nil {
		return err
	}
	parallelism := 1
	if given.Parallelism != nil {
		parallelism = *given.Parallelism
	}
	switch {
	case parallelism < 1:
		return bad("parallelism must be at least 1")
	case parallelism > limit.MaxParallel:
		return fault.New(fault.Stale, "parallelism must be at most "+strconv.Itoa(limit.MaxParallel))
	}
	l := limit.Record{Key: key, Limit: limit.Limit{Parallel: parallelism, Ordered: true, Paused: given.Paused}}
	if err := c.api.Service.PutLimit(c.Request.Context(), c.Owner, l); err != nil {
		return err
	}
	return c.done()
}

func (c *call) showQueue(ctx context.Context, key string) (shownQueue, error) {
	use, err := c.api.Service.Limit(ctx, c.Owner, key)
	if err != nil {
		return shownQueue{}, err
	}
	return shownQueue{
		Name: strings.TrimPrefix(key, queuePrefix), Parallelism: use.Parallel, Lag: use.Waiting + use.InFlight, Paused: use.Paused,
	}, nil
}

func (c *call) getQueue() error {
	key, err := queueKey(c.values[0])
	if err != nil {
		return err
	}
	shown, err := c.showQueue(c.Request.Context(), key)
	if err != nil {
		return noQueue(err, c.values[0])
	}
	return c.write(shown)
}

func (c *call) listQueues() error {
	ctx := c.Request.Context()
	// The character after the colon of the prefix ends its range.
	records, err := c.api.Service.Limits(ctx, c.Owner, queuePrefix, limit.MaxPerAccount)
	if err != nil {
		return err
	}
	list := []shownQueue{}
	for _, record := range records {
		if !strings.HasPrefix(record.Key, queuePrefix) {
			continue
		}
		shown, err := c.showQueue(ctx, record.Key)
		if err != nil && fault.CodeOf(err) == fault.NotFound {
			continue // it was deleted just now
		}
		if err != nil {
			return err
		}
		list = append(list, shown)
	}
	return c.write(list)
}

// changeQueue pauses or resumes a queue.
func (c *call) changeQueue() error {
	key, err := queueKey(c.values[0])
	if err != nil {
		return err
	}
	change, err := limitChange(c.values[1], nil)
	if err != nil || change.Paused == nil {
		return fault.New(fault.NotFound, "there is no such call of a queue")
	}
	if err := c.api.Service.ChangeLimit(c.Request.Context(), c.Owner, key, change); err != nil {
		return noQueue(err, c.values[0])
	}
	return c.done()
}

// deleteTries is how often the messages of a queue that is deleted are cancelled: others
// may enqueue meanwhile.
const deleteTries = 3

// deleteQueue cancels the messages of a queue and deletes it.
func (c *call) deleteQueue() error {
	ctx, name := c.Request.Context(), c.values[0]
	key, err := queueKey(name)
	if err != nil {
		return err
	}
	c.api.limits.forget(c.Owner.Number, key)
	for range deleteTries {
		err = c.api.Service.DeleteLimit(ctx, c.Owner, key)
		if err == nil || fault.CodeOf(err) != fault.Conflict {
			break
		}
		f := &filter{queues: []string{name}}
		cancelling := c.each(ctx, f, pending, func(j *job.Job) (bool, error) {
			_, err := c.cancel(ctx, j)
			return true, err
		})
		if cancelling != nil {
			return cancelling
		}
	}
	if err != nil {
		return noQueue(err, name)
	}
	return c.done()
}
