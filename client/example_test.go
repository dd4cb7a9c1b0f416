package client_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/punctual-dev/punctual/client"
)

// exampleService answers as the service does, so that the examples can run.
func exampleService(status int, body string) (*client.Client, func()) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		fmt.Fprint(w, body)
	}))
	c, err := client.New(client.Config{URL: server.URL, Key: "sk_…"})
	if err != nil {
		log.Fatal(err)
	}
	return c, server.Close
}

func ExampleClient_CreateJob() {
	c, done := exampleService(201, `{"data": {"job_id": 29180, "job": {"state": "available"}}}`)
	defer done()
	job, err := c.CreateJob(context.Background(), client.JobRequest{
		URL:        "https://example.com/hook",
		Method:     "post",
		Body:       map[string]string{"content": "Hello world!"},
		ScheduleIn: client.In(30 * time.Second),
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(job.JobID, job.Job.State)
	// Output: 29180 available
}

func ExampleClient_PutSchedule() {
	c, done := exampleService(201, `{"data": {"frequency": {"cron": "0 9 * * 1-5", "timezone": "Europe/Berlin"}}}`)
	defer done()
	schedule, created, err := c.PutSchedule(context.Background(), client.Key("morning-report"), client.JobRequest{
		URL:      "https://example.com/reports",
		Method:   "post",
		Cron:     "0 9 * * 1-5",
		Timezone: "Europe/Berlin",
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(created, schedule.Frequency.Cron)
	// Output: true 0 9 * * 1-5
}

func ExampleClient_ListJobs() {
	c, done := exampleService(200, `{"data": [{"job_id": 2}, {"job_id": 1}]}`)
	defer done()
	for job, err := range c.ListJobs(context.Background(), client.JobFilter{State: client.Discarded, Tags: []string{"billing"}}) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(job.JobID)
	}
	// Output:
	// 2
	// 1
}

func ExampleProblem() {
	c, done := exampleService(422, `{"title": "Unprocessable Content", "status": 422, "code": "unprocessable_content", "detail": "url must use https", "errors": [{"detail": "must use https", "pointer": "#/url"}]}`)
	defer done()
	_, err := c.CreateJob(context.Background(), client.JobRequest{URL: "http://example.com"})
	var problem *client.Problem
	if errors.As(err, &problem) {
		fmt.Println(problem.Status, problem.Pointer(), problem.Detail)
	}
	// Output: 422 #/url url must use https
}

func ExampleVerifier_Verify() {
	// Both secrets count while one is being rotated.
	verifier, err := client.NewVerifier("whsec_bmV3IHNlY3JldCBvZiB0aGUgYWNjb3VudA==", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
	if err != nil {
		log.Fatal(err)
	}
	verifier.Now = func() time.Time { return time.Unix(1614265330, 0) } // when the message was signed
	header := http.Header{}
	header.Set("webhook-id", "msg_p5jXN8AQM9LWM0D4loKWxJek")
	header.Set("webhook-timestamp", "1614265330")
	header.Set("webhook-signature", "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=")
	message, err := verifier.Verify(header, []byte(`{"test": 2432232314}`))
	fmt.Println(message.ID, err)
	// Output: msg_p5jXN8AQM9LWM0D4loKWxJek <nil>
}
