package google

import (
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/cloudtasks/apiv2/cloudtaskspb"
	"cloud.google.com/go/scheduler/apiv1/schedulerpb"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/punctual-dev/punctual/internal/limit"
	"github.com/punctual-dev/punctual/internal/retry"
)

func TestQueue_IsALimit(t *testing.T) {
	q := &queue{id: "abc", Queue: &cloudtaskspb.Queue{
		Name: "projects/p/locations/l/queues/q", State: cloudtaskspb.Queue_PAUSED,
		RateLimits:               &cloudtaskspb.RateLimits{MaxDispatchesPerSecond: 2.5, MaxConcurrentDispatches: 7},
		StackdriverLoggingConfig: &cloudtaskspb.StackdriverLoggingConfig{SamplingRatio: 0.5},
	}}
	if err := complete(q.Queue); err != nil {
		t.Fatal(err)
	}
	l, err := q.record()
	if err != nil || l.Limit != (limit.Limit{Calls: 1, Per: 400 * time.Millisecond, Parallel: 7, Paused: true}) || !limit.ValidName(l.Key) {
		t.Errorf("the limit is %+v, %v", l, err)
	}
	if back := readQueue(&l); back == nil || back.id != "abc" || !proto.Equal(back.Queue, q.Queue) {
		t.Errorf("read %v, want %v", back, q)
	}
	for _, dialect := range []string{"", "{}", `{"api":"qstash"}`, `{"api":"cloud_tasks","queue":{"name":7}}`} {
		if back := readQueue(&limit.Record{Dialect: dialect}); back != nil {
			t.Errorf("%q is the queue %v", dialect, back)
		}
	}
}

func TestLimitKey_IsValidForEachName(t *testing.T) {
	seen := map[string]bool{}
	for _, name := range []string{"projects/p/locations/l/queues/q", "projects/p2/locations/l/queues/q",
		"projects/p/locations/l/queues/" + strings.Repeat("q", 100)} {
		key := limitKey(name)
		if !limit.ValidName(key) || seen[key] || !isQueue(name) {
			t.Errorf("the key of %s is %s", name, key)
		}
		seen[key] = true
	}
}

func TestDelay_IsThatOfGooglesExample(t *testing.T) {
	r := retries{least: 10 * time.Second, most: 300 * time.Second, doublings: 3}
	e, err := retry.ParseExpression(r.delay())
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []time.Duration{10, 20, 40, 80, 160, 240, 300, 300} {
		if got, ok := e.Delay(i + 1); !ok || got != want*time.Second {
			t.Errorf("the wait after attempt %d is %v, want %v s", i+1, got, int64(want))
		}
	}
	longest := retries{least: maxBackoff, most: maxBackoff, doublings: maxDoublings}
	if text := longest.delay(); len(text) > retry.MaxExpression {
		t.Errorf("%s has %d bytes", text, len(text))
	}
}

func TestSchedules(t *testing.T) {
	for text, want := range map[string]string{
		"*/5 * * * *":              `{"cron":"*/5 * * * *","timezone":"UTC"}`,
		"every 5 minutes":          `{"repeat_every":300}`,
		"every 24 hours":           `{"repeat_every":86400}`,
		"every day 09:30":          `{"cron":"30 9 * * *","timezone":"UTC"}`,
		"every monday,friday 9:00": `{"cron":"0 9 * * 1,5","timezone":"UTC"}`,
		"every 0 minutes":          "",
		"every blue moon":          "",
		"@daily":                   "",
		"0 0 0 * * *":              "",
		"":                         "",
	} {
		f := fields{}
		err := f.scheduleOf(&schedulerpb.Job{Schedule: text, TimeZone: "utc"})
		got := ""
		if err == nil {
			got = string(f.Object())
		}
		if got != want {
			t.Errorf("%q is %s, %v, want %s", text, got, err, want)
		}
	}
}

func TestHeadersThatAreLeftOut(t *testing.T) {
	o := outgoing{headers: map[string]string{
		"X-Mine": "1", "host": "a", "Content-Length": "5", "User-Agent": "x", "X-Google-A": "1", "X-AppEngine-QueueName": "q",
		"X-CloudTasks-TaskName": "t",
		"X-CloudScheduler":      "true", "Connection": "close", "X-Punctual-Job-Id": "1", "Authorization": "Bearer mine",
	}}
	if got := string(o.forwarded()); got != `{"Authorization":"Bearer mine","X-Mine":"1"}` {
		t.Errorf("kept %s", got)
	}
	o.auth = oidc("", "", "https://example.com/a?b=c")
	if got := string(o.forwarded()); got != `{"X-Mine":"1"}` || o.auth.Audience != "https://example.com/a?b=c" {
		t.Errorf("with a token kept %s", got)
	}
}

func TestBounds(t *testing.T) {
	for name, settings := range map[string]*cloudtaskspb.Queue{
		"rate":        {RateLimits: &cloudtaskspb.RateLimits{MaxDispatchesPerSecond: -1}},
		"burst":       {RateLimits: &cloudtaskspb.RateLimits{MaxBurstSize: 501}},
		"concurrent":  {RateLimits: &cloudtaskspb.RateLimits{MaxConcurrentDispatches: 5001}},
		"attempts":    {RetryConfig: &cloudtaskspb.RetryConfig{MaxAttempts: -2}},
		"doublings":   {RetryConfig: &cloudtaskspb.RetryConfig{MaxDoublings: 17}},
		"min backoff": {RetryConfig: &cloudtaskspb.RetryConfig{MinBackoff: durationpb.New(25 * time.Hour)}},
		"max below": {RetryConfig: &cloudtaskspb.RetryConfig{MinBackoff: durationpb.New(time.Minute),
			MaxBackoff: durationpb.New(time.Second)}},
		"duration": {RetryConfig: &cloudtaskspb.RetryConfig{MaxRetryDuration: &durationpb.Duration{Seconds: 1, Nanos: -1}}},
		"instance": {AppEngineRoutingOverride: &cloudtaskspb.AppEngineRouting{Instance: "a.b"}},
	} {
		if err := complete(settings); err == nil {
			t.Errorf("%s: %v was accepted", name, settings)
		}
	}
}
