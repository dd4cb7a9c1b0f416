package google

import (
	"math"
	"time"

	"cloud.google.com/go/cloudtasks/apiv2/cloudtaskspb"
	"github.com/google/uuid"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/limit"
	"github.com/punctual-dev/punctual/internal/rawjson"
)

// queue is a queue with the limit that it is.
type queue struct {
	*cloudtaskspb.Queue
	// id is new each time the queue is created.
	id string
}

// Bounds and defaults of queues.
const (
	defaultRate       = 500
	defaultConcurrent = 1000
	maxRate           = 500
	maxBurst          = 500
	maxConcurrent     = 5000
	leastRate         = 1.0 / (24 * 60 * 60)

	defaultAttempts   = 100
	defaultDoublings  = 16
	maxDoublings      = 16
	defaultMinBackoff = 100 * time.Millisecond
	defaultMaxBackoff = time.Hour
	maxBackoff        = 24 * time.Hour // the longest wait of a job
	maxRetryDuration  = 30 * 24 * time.Hour
)

// complete checks the settings of a queue and adds the defaults.
func complete(q *cloudtaskspb.Queue) error {
	if q.GetHttpTarget() != nil {
		return unsupported("queue.http_target", "give the target in each task")
	}
	r := q.GetRateLimits()
	if r == nil {
		r = &cloudtaskspb.RateLimits{}
		q.RateLimits = r
	}
	switch rate := r.GetMaxDispatchesPerSecond(); {
	case rate == 0:
		r.MaxDispatchesPerSecond = defaultRate
	case math.IsNaN(rate) || rate < leastRate || rate > maxRate:
		return invalid("queue.rate_limits.max_dispatches_per_second", "max_dispatches_per_second must be from one a day to 500")
	}
	switch burst := r.GetMaxBurstSize(); {
	case burst == 0:
		r.MaxBurstSize = burstFor(r.MaxDispatchesPerSecond)
	case burst < 0 || burst > maxBurst:
		return invalid("queue.rate_limits.max_burst_size", "max_burst_size must be from 1 to 500")
	}
	switch n := r.GetMaxConcurrentDispatches(); {
	case n == 0:
		r.MaxConcurrentDispatches = defaultConcurrent
	case n < 0 || n > maxConcurrent:
		return invalid("queue.rate_limits.max_concurrent_dispatches", "max_concurrent_dispatches must be from 1 to 5000")
	}
	if s := q.GetStackdriverLoggingConfig(); s != nil &&
		(math.IsNaN(s.GetSamplingRatio()) || s.GetSamplingRatio() < 0 || s.GetSamplingRatio() > 1) {
		return invalid("queue.stackdriver_logging_config.sampling_ratio", "sampling_ratio must be from 0 to 1")
	}
	if o := q.GetAppEngineRoutingOverride(); o != nil && !routable(o.GetService(), o.GetVersion(), o.GetInstance()) {
		return invalid("queue.app_engine_routing_override",
			"service, version and instance must have letters, digits and hyphens, 63 at most")
	}
	if q.RetryConfig == nil {
		q.RetryConfig = &cloudtaskspb.RetryConfig{}
	}
	return completeRetry("queue.retry_config", q.RetryConfig)
}

// burstFor returns the size of the bursts under a rate, unless something else is given.
func burstFor(rate float64) int32 { return int32(min(100, max(1, math.Ceil(rate/5)))) }

// completeRetry checks the settings of retries and adds the defaults.
func completeRetry(field string, r *cloudtaskspb.RetryConfig) error {
	switch n := r.GetMaxAttempts(); {
	case n == 0:
		r.MaxAttempts = defaultAttempts
	case n < -1 || n > job.MaxAttempts:
		return invalid(field+".max_attempts", "max_attempts must be at least 1, or -1 for no limit")
	}
	switch n := r.GetMaxDoublings(); {
	case n == 0:
		r.MaxDoublings = defaultDoublings
	case n < 0 || n > maxDoublings:
		return invalid(field+".max_doublings", "max_doublings must be from 0 to 16")
	}
	if r.MinBackoff == nil {
		r.MinBackoff = durationpb.New(defaultMinBackoff)
	}
	if r.MaxBackoff == nil {
		r.MaxBackoff = durationpb.New(max(defaultMaxBackoff, r.MinBackoff.AsDuration()))
	}
	if err := between(field+".min_backoff", r.MinBackoff, 0, maxBackoff); err != nil {
		return err
	}
	if err := between(field+".max_backoff", r.MaxBackoff, r.MinBackoff.AsDuration(), maxBackoff); err != nil {
		return err
	}
	return between(field+".max_retry_duration", r.MaxRetryDuration, 0, maxRetryDuration)
}

func routable(parts ...string) bool {
	for _, part := range parts {
		if part != "" && !isPart(part, "-", 63) {
			return false
		}
	}
	return true
}

// record returns the queue's limit.
func (q *queue) record() (limit.Record, error) {
	stored := proto.Clone(q.Queue).(*cloudtaskspb.Queue)
	stored.State = 0 // the limit says it
	settings, err := protojson.Marshal(stored)
	if err != nil {
		return limit.Record{}, err
	}
	dialect := rawjson.Object([]rawjson.Member{
		{Name: "api", Value: rawjson.Quote(job.DialectCloudTasks)},
		{Name: "id", Value: rawjson.Quote(q.id)},
		{Name: "queue", Value: rawjson.Value(settings)},
	})
	r := q.RateLimits
	return limit.Record{Key: limitKey(q.Name), Dialect: string(dialect), Limit: limit.Limit{
		Calls: int(r.MaxBurstSize), Per: time.Duration(float64(r.MaxBurstSize) / r.MaxDispatchesPerSecond * float64(time.Second)).Truncate(
			time.Microsecond),
		Parallel: int(r.MaxConcurrentDispatches), Paused: q.State == cloudtaskspb.Queue_PAUSED,
	}}, nil
}

// readQueue returns the queue that a limit is; nil if it is none.
func readQueue(l *limit.Record) *queue {
	if l.Dialect == "" {
		return nil
	}
	dialect := rawjson.Value(l.Dialect)
	if rawjson.Text(rawjson.Get(dialect, "api")) != job.DialectCloudTasks {
		return nil
	}
	q := &queue{Queue: &cloudtaskspb.Queue{}, id: rawjson.Text(rawjson.Get(dialect, "id"))}
	err := protojson.UnmarshalOptions{DiscardUnknown: true}.Unmarshal(rawjson.Get(dialect, "queue"), q.Queue)
	if err != nil || complete(q.Queue) != nil {
		return nil
	}
	q.State = cloudtaskspb.Queue_RUNNING
	if l.Paused {
		q.State = cloudtaskspb.Queue_PAUSED
	}
	return q
}

// newQueueID returns an id for a queue that is created.
func newQueueID() string {
	id := uuid.New()
	return hashEncoding.EncodeToString(id[:])[:12]
}
