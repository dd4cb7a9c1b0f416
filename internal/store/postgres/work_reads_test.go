package postgres

import (
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/store"
)

// looking are the reads of clients.
var looking = []operationOf{
	{"many jobs", callBound, func(d *dealt) error { d.jobs(plainJobs, 0, callBound); return nil }},
	{"many jobs by id", callBound, func(d *dealt) error {
		_, err := d.JobGetMany(d.t.Context(), d.owner,
			column(d.jobs(plainJobs, 0, callBound), func(j **job.Job) job.Ref { return job.Ref{UUID: (*j).ID} }))
		return err
	}},
	{"marks of jobs", callBound, func(d *dealt) error {
		_, err := d.JobVersionsOf(d.t.Context(), d.owner,
			column(d.numbers(plainJobs, 0, callBound), func(n *int64) job.Ref { return job.Ref{Number: *n} }))
		return err
	}},
	{"latest marks", pageBound, func(d *dealt) error { _, err := d.JobVersions(d.t.Context(), d.owner, pageBound); return err }},
	{"marks of logs", pageBound, func(d *dealt) error { _, err := d.LogVersions(d.t.Context(), d.owner, pageBound); return err }},
	{"marks of ended jobs", store.EndedLook, func(d *dealt) error {
		_, err := d.JobVersionsEnded(d.t.Context(), d.owner, d.now.Add(-time.Hour), pageBound)
		return err
	}},
	{"jobs", pageBound, jobsBy(job.Query{})},
	{"jobs after", pageBound, jobsBy(job.Query{ListQuery: job.ListQuery{After: firstOfOurs + 5000}})},
	{"scheduled jobs", pageBound, jobsBy(job.Query{States: []job.State{job.Available, job.Retryable}})},
	{"executing jobs", pageBound, jobsBy(job.Query{States: []job.State{job.Executing}})},
	{"failed jobs", pageBound, jobsBy(job.Query{States: []job.State{job.Discarded}})},
	{"jobs of a tag", pageBound, jobsBy(job.Query{Tags: []string{"a"}})},
	{"jobs of a tag after", pageBound, jobsBy(job.Query{Tags: []string{"a"}, ListQuery: job.ListQuery{After: firstOfOurs + 5000}})},
	{"search for jobs", callBound, func(d *dealt) error {
		_, _, err := d.JobScan(d.t.Context(), d.owner, job.Query{ListQuery: job.ListQuery{Limit: pageBound}}, callBound,
			func(*job.Job) bool { return true })
		return err
	}},
	{"search for jobs of a tag by state", 10 * callBound, func(d *dealt) error {
		q := job.Query{ListQuery: job.ListQuery{Limit: pageBound}, Tags: []string{"a"}, States: []job.State{job.Completed, job.Available},
			Since: d.now.Add(-time.Hour)}
		_, _, err := d.JobScan(d.t.Context(), d.owner, q, callBound, func(*job.Job) bool { return true })
		return err
	}},
	{"jobs of a host", pageBound, jobsBy(job.Query{Host: "example.com"})},
	{"jobs of a name", pageBound, jobsBy(job.Query{Name: new("name 7")})},
	{"jobs of a key", pageBound, jobsBy(job.Query{Key: new("s-2")})},
	{"a job by number", 1, func(d *dealt) error {
		_, err := d.JobGet(d.t.Context(), d.owner, job.Ref{Number: d.number(pendingRuns, 5)})
		return err
	}},
	{"the job that holds a key", 1, func(d *dealt) error { _, err := d.JobHolding(d.t.Context(), d.owner, "p-1500"); return err }},
	{"the schedule that holds a key", 1, func(d *dealt) error {
		_,
			err := d.ScheduleHolding(d.t.Context(), d.owner, "s-1500")
		return err
	}},
	{"trail of a job", pageBound, func(d *dealt) error {
		_, err := d.JobTrail(d.t.Context(), d.owner, d.number(finalJobs, 1), 50)
		return err
	}},
	{"messages of a job", pageBound, func(d *dealt) error {
		_, err := d.JobMessages(d.t.Context(), d.owner, d.number(finalJobs, 1), pageBound)
		return err
	}},
	{"messages of alerts", 2 * pageBound, func(d *dealt) error {
		_, _, err := d.AlertMessages(d.t.Context(), d.owner, []int64{d.number(finalJobs, 1), d.number(finalJobs, 2)}, pageBound)
		return err
	}},
	{"completion of a job", 1, func(d *dealt) error {
		_, err := d.CompletionOf(d.t.Context(), d.owner, d.number(claimedJobs, 1))
		return err
	}},
	{"schedules", pageBound, schedulesBy(job.ScheduleQuery{})},
	{"schedules of a tag", pageBound, schedulesBy(job.ScheduleQuery{Tags: []string{"a"}})},
	{"runs of a schedule", 10, func(d *dealt) error {
		_, err := d.RunUnfinished(d.t.Context(), d.owner, d.scheduleIDs(1510, 1)[0])
		return err
	}},
	{"ended runs of a schedule", pageBound, func(d *dealt) error {
		_, _, err := d.RunsEnded(d.t.Context(), d.owner, d.scheduleIDs(1510, 1)[0], 20)
		return err
	}},
	{"runs of schedules", pageBound * 20, func(d *dealt) error {
		_, err := d.ScheduleRuns(d.t.Context(), d.owner, d.scheduleIDs(1500, pageBound), 20)
		return err
	}},
	{"schedules of a name", pageBound, func(d *dealt) error {
		_,
			err := d.SchedulesNamed(d.t.Context(), d.owner, "x", pageBound)
		return err
	}},
	{"names of schedules", pageBound, func(d *dealt) error {
		_, err := d.ScheduleNames(d.t.Context(), d.owner, d.scheduleIDs(1500, pageBound))
		return err
	}},
	{"failing schedules", pageBound, func(d *dealt) error { _, err := d.SchedulesFailing(d.t.Context(), d.owner, pageBound); return err }},
	{"schedules by key", pageBound, func(d *dealt) error {
		_, err := d.ScheduleKeyed(d.t.Context(), d.owner, nil, "s-2", pageBound)
		return err
	}},
	{"schedules of a document", pageBound, func(d *dealt) error {
		_, err := d.ScheduleKeyed(d.t.Context(), d.owner, new("doc"), "s-2", pageBound)
		return err
	}},
	{"entries of a document", callBound, func(d *dealt) error { _, err := d.DocumentEntries(d.t.Context(), d.owner, "doc"); return err }},
	{"revisions", pageBound, func(d *dealt) error {
		_, err := d.Revisions(d.t.Context(), d.owner, d.scheduleIDs(1500, 1)[0])
		return err
	}},
	{"logs", pageBound, logsBy(job.LogQuery{})},
	{"logs of a job", pageBound, logsBy(job.LogQuery{Job: &job.Ref{Number: firstOfOurs + 5}})},
	{"logs of an unknown event", 1, logsBy(job.LogQuery{Event: "worker.error"})},
	{"logs of errors", pageBound, logsBy(job.LogQuery{Event: job.EventError})},
	{"logs of a schedule", 5 * pageBound, func(d *dealt) error {
		_, err := d.LogWalk(d.t.Context(), d.owner, d.scheduleIDs(1510, 1)[0], job.LogQuery{ListQuery: job.ListQuery{Limit: pageBound}},
			pageBound)
		return err
	}},
	{"many logs", pageBound, func(d *dealt) error {
		marks, err := d.LogVersions(d.t.Context(), d.owner, pageBound)
		if err != nil {
			return err
		}
		_, err = d.LogGetMany(d.t.Context(), d.owner, column(marks, func(m *store.LogVersion) uuid.UUID { return m.ID }))
		return err
	}},
	{"schedules due", 2 * pageBound, func(d *dealt) error {
		_, err := d.SchedulesDue(d.t.Context(), d.owner, pageBound, pageBound)
		return err
	}},
	{"jobs ahead", 2 * callBound, func(d *dealt) error {
		_, err := d.JobsAhead(d.t.Context(), d.owner, []time.Time{d.Now(), d.Now().Add(time.Hour)}, 5, callBound, callBound)
		return err
	}},
	{"limits waiting", pageBound, func(d *dealt) error { _, err := d.LimitsWaiting(d.t.Context(), d.owner, 5, pageBound); return err }},
	{"mutes", pageBound, func(d *dealt) error {
		_, err := d.MuteList(d.t.Context(), d.owner.Number, d.scheduleIDs(1500, pageBound))
		return err
	}},
	{"alert states", pageBound, func(d *dealt) error { _, err := d.AlertStates(d.t.Context(), d.owner, pageBound); return err }},
	{"due jobs", 2 * callBound, func(d *dealt) error {
		_, err := d.JobsDue(d.t.Context(), d.owner, d.Now().Add(time.Hour), pageBound, callBound)
		return err
	}},
	{"failures", pageBound, func(d *dealt) error {
		_, err := d.FailedJobs(d.t.Context(), d.owner, d.now.Add(-time.Hour), pageBound)
		return err
	}},
	{"origins", pageBound, func(d *dealt) error {
		_, err := d.JobOrigins(d.t.Context(), d.owner, d.numbers(finalJobs, 0, pageBound))
		return err
	}},
	{"failures of jobs", pageBound, func(d *dealt) error {
		_, err := d.JobFailures(d.t.Context(), d.owner, d.numbers(finalJobs, 0, pageBound))
		return err
	}},
	{"tally", callBound, func(d *dealt) error {
		_, _, err := d.JobTally(d.t.Context(), d.owner, job.Query{}, callBound)
		return err
	}},
	{"tally of a tag", 2 * callBound, func(d *dealt) error {
		_, _, err := d.JobTally(d.t.Context(), d.owner, job.Query{Tags: []string{"a"}}, callBound)
		return err
	}},
	{"tally of a key", 10, func(d *dealt) error {
		key := "p-5"
		_, _, err := d.JobTally(d.t.Context(), d.owner, job.Query{Key: &key}, 10)
		return err
	}},
	{"tally of a tag and a host", 2 * callBound, func(d *dealt) error {
		_, _, err := d.JobTally(d.t.Context(), d.owner, job.Query{Tags: []string{"a"}, Host: "example.com"}, callBound)
		return err
	}},
	{"tally of a tag, a host and a time", 4 * callBound, func(d *dealt) error {
		q := job.Query{Tags: []string{"a"}, Host: "example.com", Since: d.now.Add(-time.Hour)}
		_, _, err := d.JobTally(d.t.Context(), d.owner, q, callBound)
		return err
	}},
	{"numbers of failed jobs of a host", 4 * callBound, func(d *dealt) error {
		q := job.Query{ListQuery: job.ListQuery{Limit: callBound}, Host: "example.com",
			States: []job.State{job.Executing, job.Retryable, job.Cancelled, job.Discarded}}
		_, _, err := d.JobNumbers(d.t.Context(), d.owner, q, callBound)
		return err
	}},
	{"tally of a state", callBound, func(d *dealt) error {
		_, _, err := d.JobTally(d.t.Context(), d.owner, job.Query{States: []job.State{job.Discarded}}, callBound)
		return err
	}},
	{"use of an account", callBound, func(d *dealt) error { _, err := d.AccountUse(d.t.Context(), d.owner.Number, callBound); return err }},
	{"size of an account", callBound, func(d *dealt) error {
		_,
			err := d.AccountSize(d.t.Context(), d.owner.Number, callBound)
		return err
	}},
	{"schedules with ended runs", pageBound, func(d *dealt) error {
		mark := store.PruneCursor{At: d.now.Add(-time.Second), Number: d.number(finalJobs, 700)}
		_, err := d.MonthsEnded(d.t.Context(), mark, d.now.Add(time.Hour), pageBound)
		return err
	}},
	{"no ended runs", 1, func(d *dealt) error {
		mark, err := d.MonthsCursor(d.t.Context())
		if err == nil {
			mark.At = d.now.Add(time.Hour)
			_, err = d.MonthsEnded(d.t.Context(), mark, d.now.Add(2*time.Hour), pageBound)
		}
		return err
	}},
	{"runs to count", 1, func(d *dealt) error { // each statement is about one schedule or run
		_, err := d.MonthsRead(d.t.Context(), d.months(1500), pageBound)
		return err
	}},
	{"count runs", 1, func(d *dealt) error { return d.countMonths() }},
	{"mark of months", 1, func(d *dealt) error { return d.MonthsCursorPut(d.t.Context(), store.PruneCursor{At: d.now, Number: 1}) }},
	{"copy months", pageBound, func(d *dealt) error {
		page, err := d.MonthsPage(d.t.Context(), d.owner.Number, uuid.Max, 0, pageBound)
		if err == nil && len(page) > 0 {
			return fmt.Errorf("%d months are behind the last", len(page))
		}
		middle := uuid.UUID{0: 0x80}
		if page, err = d.MonthsPage(d.t.Context(), d.owner.Number, middle, 24315, pageBound); err == nil && len(page) == 0 {
			return errors.New("no months were read")
		}
		return err
	}},
	{"audit log", pageBound, func(d *dealt) error {
		_, err := d.AuditList(d.t.Context(), d.owner.Number, "", uuid.Nil, pageBound)
		return err
	}},
	{"operations", pageBound, func(d *dealt) error {
		_, err := d.OperationList(d.t.Context(), d.owner, job.ListQuery{Limit: pageBound})
		return err
	}},
	{"alerts", pageBound, func(d *dealt) error { _, err := d.AlertList(d.t.Context(), d.owner); return err }},
	{"secrets", pageBound, func(d *dealt) error { _, err := d.SecretList(d.t.Context(), d.owner.Number); return err }},
	{"delete a secret", pageBound, func(d *dealt) error {
		_, err := d.SecretDelete(d.t.Context(), d.owner.Number, "secret-5", 10)
		return err
	}},
	{"statistics", pageBound, func(d *dealt) error { _, err := d.StatsRead(d.t.Context(), d.owner.Number, 100, 150); return err }},
	{"bytes of jobs", callBound, bytesFrom(store.ByteCursor{})},
	{"bytes of schedules", callBound, bytesFrom(store.ByteCursor{Part: 1})},
	{"bytes of logs", callBound, bytesFrom(store.ByteCursor{Part: 2})},
	{"copy jobs", callBound, func(d *dealt) error {
		_, err := d.JobPage(d.t.Context(), d.owner, 0, callBound, job.PageBytes)
		return err
	}},
	{"copy logs", callBound, func(d *dealt) error { _, err := d.LogPage(d.t.Context(), d.owner, uuid.Nil, callBound); return err }},
	{"copy deliveries", callBound, func(d *dealt) error { _, err := d.DeliveryPage(d.t.Context(), 0, callBound); return err }},
	{"copy the audit log", callBound, func(d *dealt) error { _, err := d.AuditPage(d.t.Context(), 0, uuid.Nil, callBound); return err }},
	{"purge an account", 2 * pruneBound, func(d *dealt) error {
		err := d.AccountDelete(d.t.Context(), d.owner.Number, d.Now())
		d.take() // it deletes whole tables of the account
		for range 12 {
			if err == nil {
				_, err = d.AccountPurge(d.t.Context(), d.Now(), pruneBound)
			}
		}
		return err
	}},
}

func jobsBy(q job.Query) func(*dealt) error {
	return func(d *dealt) error {
		q.Limit = pageBound
		_, err := d.JobList(d.t.Context(), d.owner, q)
		return err
	}
}

func schedulesBy(q job.ScheduleQuery) func(*dealt) error {
	return func(d *dealt) error {
		q.Limit = pageBound
		_, err := d.ScheduleList(d.t.Context(), d.owner, q)
		return err
	}
}

func logsBy(q job.LogQuery) func(*dealt) error {
	return func(d *dealt) error {
		q.Limit = pageBound
		_, err := d.LogList(d.t.Context(), d.owner, q)
		return err
	}
}

func bytesFrom(mark store.ByteCursor) func(*dealt) error {
	return func(d *dealt) error {
		_, _, err := d.AccountBytes(d.t.Context(), d.owner.Number, mark, callBound)
		return err
	}
}
