package gcloud

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	scheduler "cloud.google.com/go/scheduler/apiv1"
	pb "cloud.google.com/go/scheduler/apiv1/schedulerpb"
	"google.golang.org/api/iterator"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/fieldmaskpb"
)

func httpJob(name, schedule, uri string) *pb.Job {
	return &pb.Job{Name: name, Schedule: schedule, Target: &pb.Job_HttpTarget{HttpTarget: &pb.HttpTarget{Uri: uri}}}
}

func TestJobs(t *testing.T) {
	eachScheduler(t, func(t *testing.T, c *scheduler.CloudSchedulerClient) {
		ctx, s, named := t.Context(), newTarget(t, always(http.StatusOK)), location+"/jobs/"+name(t)
		job, err := c.CreateJob(ctx, &pb.CreateJobRequest{Parent: location, Job: &pb.Job{
			Name: named, Description: "nightly", Schedule: "0 3 1 1 *", TimeZone: "Europe/Berlin",
			AttemptDeadline: durationpb.New(20 * time.Minute),
			RetryConfig:     &pb.RetryConfig{RetryCount: 2, MinBackoffDuration: durationpb.New(time.Second)},
			Target: &pb.Job_HttpTarget{HttpTarget: &pb.HttpTarget{
				Uri: s.URL + "/run", HttpMethod: pb.HttpMethod_PUT, Body: []byte("hello"), Headers: map[string]string{"X-Shop": "7"},
				AuthorizationHeader: &pb.HttpTarget_OidcToken{OidcToken: &pb.OidcToken{ServiceAccountEmail: "robot@example.com",
					Audience: "shop"}},
			}},
		}})
		ok(t, "CreateJob", err)
		r := job.GetHttpTarget()
		if job.State != pb.Job_ENABLED || job.Description != "nightly" || job.Schedule != "0 3 1 1 *" || job.TimeZone != "Europe/Berlin" ||
			job.AttemptDeadline.AsDuration() != 20*time.Minute ||
			job.RetryConfig.RetryCount != 2 || string(r.Body) != "hello" || r.GetOidcToken().GetAudience() != "shop" ||
			job.UserUpdateTime == nil ||
			job.ScheduleTime.AsTime().In(time.UTC).Format("01-02 15:04") != "01-01 02:00" {
			t.Errorf("created %v", job)
		}
		_, err = c.CreateJob(ctx, &pb.CreateJobRequest{Parent: location, Job: httpJob(named, "* * * * *", s.URL)})
		want(t, "CreateJob again", err, codes.AlreadyExists)

		_, err = c.RunJob(ctx, &pb.RunJobRequest{Name: named})
		ok(t, "RunJob", err)
		got := s.next(t)
		h := got.Header
		if got.Method != "PUT" || string(got.body) != "hello" || h.Get("X-CloudScheduler") != "true" ||
			h.Get("X-CloudScheduler-JobName") != name(t) || h.Get("X-CloudScheduler-ScheduleTime") == "" ||
			!strings.HasPrefix(h.Get("User-Agent"), "Google-Cloud-Scheduler") || h.Get("X-Shop") != "7" ||
			!strings.HasPrefix(h.Get("Authorization"), "Bearer ey") {
			t.Errorf("received %s %v %q", got.Method, h, got.body)
		}
		eventually(t, "last_attempt_time", func() bool {
			job, err = c.GetJob(ctx, &pb.GetJobRequest{Name: named})
			ok(t, "GetJob", err)
			return job.LastAttemptTime != nil && job.ScheduleTime.AsTime().After(time.Now())
		})
		if job.Status.GetCode() != 0 {
			t.Errorf("the status is %v", job.Status)
		}

		job, err = c.UpdateJob(ctx, &pb.UpdateJobRequest{
			Job:        &pb.Job{Name: named, Schedule: "every 5 minutes", Description: "other"},
			UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"schedule"}},
		})
		ok(t, "UpdateJob", err)
		if job.Schedule != "every 5 minutes" || job.Description != "nightly" || string(job.GetHttpTarget().GetBody()) != "hello" ||
			time.Until(job.ScheduleTime.AsTime()) > 5*time.Minute {
			t.Errorf("updated %v", job)
		}
		job, err = c.PauseJob(ctx, &pb.PauseJobRequest{Name: named})
		ok(t, "PauseJob", err)
		if job.State != pb.Job_PAUSED {
			t.Errorf("paused %v", job)
		}
		_, err = c.PauseJob(ctx, &pb.PauseJobRequest{Name: named})
		want(t, "PauseJob of a paused one", err, codes.FailedPrecondition)
		job, err = c.UpdateJob(ctx, &pb.UpdateJobRequest{Job: &pb.Job{Name: named, Description: "other"},
			UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"description"}}})
		ok(t, "UpdateJob of a paused one", err)
		if job.State != pb.Job_PAUSED || job.Description != "other" {
			t.Errorf("updated %v", job)
		}
		job, err = c.ResumeJob(ctx, &pb.ResumeJobRequest{Name: named})
		ok(t, "ResumeJob", err)
		if job.State != pb.Job_ENABLED {
			t.Errorf("resumed %v", job)
		}
		_, err = schedulerClient(t, other).GetJob(ctx, &pb.GetJobRequest{Name: named})
		want(t, "GetJob of another account", err, codes.NotFound)
		ok(t, "DeleteJob", c.DeleteJob(ctx, &pb.DeleteJobRequest{Name: named}))
		_, err = c.GetJob(ctx, &pb.GetJobRequest{Name: named})
		want(t, "GetJob of a deleted one", err, codes.NotFound)
	})
}

func TestJobPages(t *testing.T) {
	eachScheduler(t, func(t *testing.T, c *scheduler.CloudSchedulerClient) {
		parent := "projects/" + strings.ToLower(name(t)) + "/locations/here"
		var all []string
		for i := range 5 {
			job, err := c.CreateJob(t.Context(), &pb.CreateJobRequest{Parent: parent,
				Job: httpJob(fmt.Sprintf("%s/jobs/j%d", parent, i), "0 0 1 1 *", "https://example.com")})
			ok(t, "CreateJob", err)
			all = append(all, job.Name)
		}
		var found []string
		list := c.ListJobs(t.Context(), &pb.ListJobsRequest{Parent: parent, PageSize: 2})
		for job, err := list.Next(); err != iterator.Done; job, err = list.Next() {
			ok(t, "ListJobs", err)
			found = append(found, job.Name)
		}
		slices.Sort(found)
		if !slices.Equal(found, all) {
			t.Errorf("listed %v, want %v", found, all)
		}
	})
}

func TestJobRefusals(t *testing.T) {
	eachScheduler(t, func(t *testing.T, c *scheduler.CloudSchedulerClient) {
		named := location + "/jobs/" + name(t)
		good := httpJob(named, "* * * * *", "https://example.com")
		for what, job := range map[string]*pb.Job{
			"no schedule":      httpJob(named, "", "https://example.com"),
			"a wrong schedule": httpJob(named, "61 * * * *", "https://example.com"),
			"no target":        {Name: named, Schedule: "* * * * *"},
			"Pub/Sub": {Name: named, Schedule: "* * * * *",
				Target: &pb.Job_PubsubTarget{PubsubTarget: &pb.PubsubTarget{TopicName: "projects/p/topics/t"}}},
			"a wrong zone":     {Name: named, Schedule: "* * * * *", TimeZone: "Mars/Olympus", Target: good.Target},
			"6 retries":        {Name: named, Schedule: "* * * * *", Target: good.Target, RetryConfig: &pb.RetryConfig{RetryCount: 6}},
			"another location": httpJob("projects/p/locations/l/jobs/j", "* * * * *", "https://example.com"),
		} {
			_, err := c.CreateJob(t.Context(), &pb.CreateJobRequest{Parent: location, Job: job})
			want(t, what, err, codes.InvalidArgument)
		}
	})
}

func TestAppEngineJobs(t *testing.T) {
	eachScheduler(t, func(t *testing.T, c *scheduler.CloudSchedulerClient) {
		named := location + "/jobs/" + name(t)
		_, err := c.CreateJob(t.Context(), &pb.CreateJobRequest{Parent: location,
			Job: &pb.Job{Name: named, Schedule: "0 0 1 1 *", Target: &pb.Job_AppEngineHttpTarget{
				AppEngineHttpTarget: &pb.AppEngineHttpTarget{RelativeUri: "/cron/" + name(t), HttpMethod: pb.HttpMethod_GET},
			}}})
		ok(t, "CreateJob", err)
		_, err = c.RunJob(t.Context(), &pb.RunJobRequest{Name: named})
		ok(t, "RunJob", err)
		if h := engineRequest(t, "/cron/"+name(t)).Header; h.Get("X-AppEngine-Cron") != "true" || h.Get("X-CloudScheduler") != "true" {
			t.Errorf("received %v", h)
		}
	})
}
