package e2e

import (
	"fmt"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/test/e2e/harness"
)

// TestWebhookReceiver_SlowOneDelaysNoJobAndNoOtherReceiver fills a small
// service with deliveries to a receiver that hangs.
func TestWebhookReceiver_SlowOneDelaysNoJobAndNoOtherReceiver(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, harness.Flag("concurrency", "32"))
	c := s.Account(t).Client
	target, healthy := harness.SharedTarget(t).Route(t), harness.NewTarget(t).Route(t)
	slow := harness.NewTarget(t).Route(t).Respond(harness.Hang())
	for i := range 40 {
		create(c, fmt.Sprintf(`{"url":"%s/slow/%d","callback_url":"%s","webhook_url":"%s"}`, target.URL, i, slow.URL, slow.URL))
	}
	target.AwaitEnds(t, 40, soon)
	slow.Await(t, 1, soon)
	began := time.Now()
	for i := range 20 {
		// One after the other, so that the slow one is alone in between.
		create(c, fmt.Sprintf(`{"url":"%s/healthy/%d","callback_url":"%s"}`, target.URL, i, healthy.URL))
		healthy.AwaitEnds(t, i+1, soon)
	}
	target.AwaitEnds(t, 60, soon)
	if took := time.Since(began); took > harness.Allowed(3*soon, began) { // attempts that hang take 30 s each
		t.Errorf("20 jobs and their callbacks took %s beside a receiver that hangs", took)
	}
}

func TestWebhookReceiver_DeadOneDelaysNoJobAndNoOtherReceiver(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, harness.Flag("concurrency", "32"))
	c := s.Account(t).Client
	target, healthy := harness.SharedTarget(t).Route(t), harness.NewTarget(t).Route(t)
	dead := "https://127.0.0.1:1/"
	began := time.Now()
	for i := range 40 {
		receiver := dead
		if i%2 == 0 {
			receiver = healthy.URL
		}
		create(c, fmt.Sprintf(`{"url":"%s/%d","callback_url":"%s","webhook_url":"%s"}`, target.URL, i, receiver, dead))
	}
	target.AwaitEnds(t, 40, soon)
	healthy.AwaitEnds(t, 20, soon)
	if took := time.Since(began); took > harness.Allowed(3*soon, began) { // attempts that hang take 30 s each
		t.Errorf("40 jobs and 20 callbacks took %s beside a dead receiver", took)
	}
}

// TestWebhookReceiver_IsNotDelayedByASlowTarget tests that jobs and deliveries
// have separate slots.
func TestWebhookReceiver_IsNotDelayedByASlowTarget(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, harness.Flag("concurrency", "2"))
	c := s.Account(t).Client
	target, receiver := harness.SharedTarget(t).Route(t), harness.NewTarget(t).Route(t)
	target.Respond(harness.Hang())
	for i := range 4 {
		create(c, fmt.Sprintf(`{"url":"%s/%d"}`, target.URL, i))
	}
	target.Await(t, 2, soon)
	cancel(c, create(c, with(waiting, `"webhook_url":"`+receiver.URL+`"`)))
	receiver.Await(t, 1, soon)
}
