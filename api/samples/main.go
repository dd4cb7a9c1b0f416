// Command samples makes the calls that the reference shows in Go, one after the
// other. Each function has the id of its call in the API document; its body is what
// the reference shows. The programs beside it do the same in other languages.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/punctual-dev/punctual/client"
)

func main() {
	ctx := context.Background()
	c, err := client.FromEnvironment()
	if err != nil {
		log.Fatal(err)
	}
	for _, call := range []func(context.Context, *client.Client) error{
		createJob, createJobs, listJobs, getJob, editJob, remember, runJob, await, rerunJob, cancelJob,
		putSchedule, listSchedules, getSchedule, editSchedule, runSchedule, disableSchedule, enableSchedule, apply, exportSchedules,
		deleteSchedule,
		startOperation, listLogs, exportLogs, putLimit, listLimits, deleteLimit, putAlert, testAlert, deleteAlert,
		putHeaderSecret, deleteHeaderSecret, createKey, getStats,
	} {
		if err := call(ctx, c); err != nil {
			log.Fatal(err)
		}
	}
}

// jobID is the number of the job that createJob created.
var jobID int64

func remember(ctx context.Context, c *client.Client) error {
	job, err := c.GetJob(ctx, client.Key("invoice-1042"))
	if err == nil {
		jobID = job.JobID
	}
	return err
}

func await(ctx context.Context, c *client.Client) error {
	_, err := c.WaitJob(ctx, client.ID(jobID))
	return err
}

func createJob(ctx context.Context, c *client.Client) error {
	job, err := c.CreateJob(ctx, client.JobRequest{
		URL:            "https://example.com/invoices",
		Method:         "post",
		Body:           map[string]any{"invoice": 1042},
		ScheduleIn:     client.In(30 * time.Minute),
		IdempotencyKey: "invoice-1042",
	})
	if err != nil {
		return err
	}
	fmt.Println(job.JobID)
	return nil
}

func createJobs(ctx context.Context, c *client.Client) error {
	jobs, err := c.CreateJobs(ctx, []client.JobRequest{
		{URL: "https://example.com/reminders", ScheduleIn: client.In(time.Hour), IdempotencyKey: "reminder-17"},
		{URL: "https://example.com/reminders", ScheduleIn: client.In(time.Hour), Tags: []string{"billing"}},
	})
	if err != nil {
		return err
	}
	fmt.Println(len(jobs))
	return nil
}

func listJobs(ctx context.Context, c *client.Client) error {
	for job, err := range c.ListJobs(ctx, client.JobFilter{State: client.Available, Tags: []string{"billing"}}) {
		if err != nil {
			return err
		}
		fmt.Println(job.JobID, job.Job.ScheduledAt)
	}
	return nil
}

func getJob(ctx context.Context, c *client.Client) error {
	job, err := c.GetJob(ctx, client.Key("invoice-1042"))
	if err != nil {
		return err
	}
	fmt.Println(job.Job.State)
	return nil
}

func editJob(ctx context.Context, c *client.Client) error {
	_, err := c.EditJob(ctx, client.Key("invoice-1042"), client.Edit{"retries": 5})
	return err
}

func runJob(ctx context.Context, c *client.Client) error {
	_, err := c.RunJob(ctx, client.Key("invoice-1042"))
	return err
}

func rerunJob(ctx context.Context, c *client.Client) error {
	_, err := c.RerunJob(ctx, client.ID(jobID), client.Edit{"schedule_in": 60})
	return err
}

func cancelJob(ctx context.Context, c *client.Client) error {
	_, err := c.CancelJob(ctx, client.Key("reminder-17"))
	return err
}

func putSchedule(ctx context.Context, c *client.Client) error {
	schedule, created, err := c.PutSchedule(ctx, client.Key("nightly-report"), client.JobRequest{
		URL:      "https://example.com/report",
		Method:   "post",
		Cron:     "0 2 * * *",
		Timezone: "Europe/Berlin",
	})
	if err != nil {
		return err
	}
	fmt.Println(schedule.ID, created)
	return nil
}

func listSchedules(ctx context.Context, c *client.Client) error {
	for schedule, err := range c.ListSchedules(ctx, client.ScheduleFilter{}) {
		if err != nil {
			return err
		}
		fmt.Println(schedule.ID, schedule.DisabledAt == nil)
	}
	return nil
}

func getSchedule(ctx context.Context, c *client.Client) error {
	schedule, err := c.GetSchedule(ctx, client.Key("nightly-report"))
	if err != nil {
		return err
	}
	fmt.Println(schedule.ETag)
	return nil
}

func editSchedule(ctx context.Context, c *client.Client) error {
	_, err := c.EditSchedule(ctx, client.Key("nightly-report"), client.Edit{"cron": "0 4 * * *"})
	return err
}

func runSchedule(ctx context.Context, c *client.Client) error {
	job, err := c.RunSchedule(ctx, client.Key("nightly-report"))
	if err != nil {
		return err
	}
	fmt.Println(job.JobID)
	return nil
}

func disableSchedule(ctx context.Context, c *client.Client) error {
	_, err := c.DisableSchedule(ctx, client.Key("nightly-report"))
	return err
}

func enableSchedule(ctx context.Context, c *client.Client) error {
	_, err := c.EnableSchedule(ctx, client.Key("nightly-report"))
	return err
}

func apply(ctx context.Context, c *client.Client) error {
	results, _, err := c.Apply(ctx, client.Document{
		Owner: "my-repository",
		Schedules: []client.DocumentSchedule{
			{Key: "cleanup", JobRequest: client.JobRequest{URL: "https://example.com/cleanup", RepeatEvery: client.Day}},
		},
		Prune: true,
	})
	if err != nil {
		return err
	}
	fmt.Println(results[0].Key, results[0].Result)
	return nil
}

func exportSchedules(ctx context.Context, c *client.Client) error {
	document, err := c.ExportSchedules(ctx, "my-repository")
	if err != nil {
		return err
	}
	return os.WriteFile("schedules.json", document, 0o600)
}

func deleteSchedule(ctx context.Context, c *client.Client) error {
	return c.DeleteSchedule(ctx, client.Key("nightly-report"))
}

func startOperation(ctx context.Context, c *client.Client) error {
	operation, err := c.StartOperation(ctx, client.OperationRequest{
		Action: "cancel",
		Filter: client.OperationFilter{Tags: []string{"billing"}},
	})
	if err != nil {
		return err
	}
	_, err = c.WaitOperation(ctx, operation.ID)
	return err
}

func listLogs(ctx context.Context, c *client.Client) error {
	for entry, err := range c.ListLogs(ctx, client.LogFilter{Event: "worker.http.error"}) {
		if err != nil {
			return err
		}
		fmt.Println(entry.Event, string(entry.Payload))
	}
	return nil
}

func exportLogs(ctx context.Context, c *client.Client) error {
	count := 0
	for _, err := range c.ExportLogs(ctx, client.LogFilter{Since: time.Now().Add(-time.Hour)}) {
		if err != nil {
			return err
		}
		count++
	}
	fmt.Println(count)
	return nil
}

func putLimit(ctx context.Context, c *client.Client) error {
	_, err := c.PutLimit(ctx, client.Limit{Key: "stripe", Rate: &client.Rate{Calls: 100, Per: client.Every(time.Second)},
		Parallel: new(int64(5))})
	return err
}

func listLimits(ctx context.Context, c *client.Client) error {
	for limit, err := range c.ListLimits(ctx) {
		if err != nil {
			return err
		}
		fmt.Println(limit.Key)
	}
	return nil
}

func deleteLimit(ctx context.Context, c *client.Client) error {
	return c.DeleteLimit(ctx, "stripe")
}

func putAlert(ctx context.Context, c *client.Client) error {
	_, err := c.PutAlert(ctx, "billing", client.AlertRequest{
		On:    []string{"failed", "recovered"},
		After: 3,
		Match: &client.AlertMatch{Tags: []string{"billing"}},
		To:    []client.AlertReceiver{{Webhook: "https://example.com/alerts"}},
	})
	return err
}

func testAlert(ctx context.Context, c *client.Client) error {
	_, err := c.TestAlert(ctx, "billing")
	return err
}

func deleteAlert(ctx context.Context, c *client.Client) error {
	return c.DeleteAlert(ctx, "billing")
}

func putHeaderSecret(ctx context.Context, c *client.Client) error {
	_, err := c.PutHeaderSecret(ctx, "github", client.NewHeaderSecret{Value: os.Getenv("GITHUB_TOKEN"), Hosts: []string{"api.github.com"}})
	return err
}

func deleteHeaderSecret(ctx context.Context, c *client.Client) error {
	return c.DeleteHeaderSecret(ctx, "github")
}

func createKey(ctx context.Context, c *client.Client) error {
	key, err := c.CreateKey(ctx, client.NewKey{Name: "deploy", Scope: "jobs"})
	if err != nil {
		return err
	}
	fmt.Println(key.ID)
	return nil
}

func getStats(ctx context.Context, c *client.Client) error {
	stats, err := c.GetStats(ctx, 60)
	if err != nil {
		return err
	}
	fmt.Println(len(stats.Minutes))
	return nil
}
