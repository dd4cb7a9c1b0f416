package gcloud

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	cloudtasks "cloud.google.com/go/cloudtasks/apiv2"
	pb "cloud.google.com/go/cloudtasks/apiv2/cloudtaskspb"
	"cloud.google.com/go/iam/apiv1/iampb"
	"google.golang.org/api/iterator"
	locationpb "google.golang.org/genproto/googleapis/cloud/location"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/fieldmaskpb"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// name returns a name that no other test uses.
func name(t *testing.T) string {
	return strings.NewReplacer("/", "-", "_", "-", "#", "-").Replace(t.Name())
}

func queueName(t *testing.T) string { return location + "/queues/" + name(t) }

func newQueue(t *testing.T, c *cloudtasks.Client, settings *pb.Queue) *pb.Queue {
	t.Helper()
	settings.Name = queueName(t)
	q, err := c.CreateQueue(t.Context(), &pb.CreateQueueRequest{Parent: location, Queue: settings})
	ok(t, "CreateQueue", err)
	return q
}

func create(t *testing.T, c *cloudtasks.Client, queue string, task *pb.Task) *pb.Task {
	t.Helper()
	created, err := c.CreateTask(t.Context(), &pb.CreateTaskRequest{Parent: queue, Task: task, ResponseView: pb.Task_FULL})
	ok(t, "CreateTask", err)
	return created
}

func httpTask(r *pb.HttpRequest) *pb.Task {
	return &pb.Task{MessageType: &pb.Task_HttpRequest{HttpRequest: r}}
}

func inAnHour() *timestamppb.Timestamp { return timestamppb.New(time.Now().Add(time.Hour)) }

func TestQueues(t *testing.T) {
	eachTasks(t, func(t *testing.T, c *cloudtasks.Client) {
		ctx, named := t.Context(), queueName(t)
		q := newQueue(t, c, &pb.Queue{RateLimits: &pb.RateLimits{MaxDispatchesPerSecond: 2.5},
			RetryConfig: &pb.RetryConfig{MaxAttempts: 7}})
		if q.RateLimits.MaxDispatchesPerSecond != 2.5 || q.RateLimits.MaxConcurrentDispatches != 1000 || q.RetryConfig.MaxAttempts != 7 ||
			q.RetryConfig.MinBackoff.AsDuration() != 100*time.Millisecond || q.State != pb.Queue_RUNNING {
			t.Errorf("created %v", q)
		}
		_, err := c.CreateQueue(ctx, &pb.CreateQueueRequest{Parent: location, Queue: &pb.Queue{Name: named}})
		want(t, "CreateQueue again", err, codes.AlreadyExists)
		_, err = c.CreateQueue(ctx, &pb.CreateQueueRequest{Parent: location,
			Queue: &pb.Queue{Name: named + "2", RateLimits: &pb.RateLimits{MaxDispatchesPerSecond: 501}}})
		want(t, "CreateQueue with too high a rate", err, codes.InvalidArgument)

		q, err = c.UpdateQueue(ctx, &pb.UpdateQueueRequest{
			Queue: &pb.Queue{Name: named, RateLimits: &pb.RateLimits{MaxConcurrentDispatches: 3},
				RetryConfig: &pb.RetryConfig{MaxAttempts: 9}},
			UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"rate_limits.max_concurrent_dispatches"}},
		})
		ok(t, "UpdateQueue", err)
		if q.RateLimits.MaxConcurrentDispatches != 3 || q.RateLimits.MaxDispatchesPerSecond != 2.5 || q.RetryConfig.MaxAttempts != 7 {
			t.Errorf("updated %v", q)
		}
		_, err = c.UpdateQueue(ctx, &pb.UpdateQueueRequest{Queue: &pb.Queue{Name: named},
			UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"nothing"}}})
		want(t, "UpdateQueue of no field", err, codes.InvalidArgument)

		q, err = c.PauseQueue(ctx, &pb.PauseQueueRequest{Name: named})
		ok(t, "PauseQueue", err)
		if q.State != pb.Queue_PAUSED {
			t.Errorf("paused %v", q)
		}
		var paused []string
		list := c.ListQueues(ctx, &pb.ListQueuesRequest{Parent: location, Filter: "state: PAUSED"})
		for q, err := list.Next(); err != iterator.Done; q, err = list.Next() {
			ok(t, "ListQueues", err)
			paused = append(paused, q.Name)
		}
		if !slices.Contains(paused, named) {
			t.Errorf("paused queues %v, want %s among them", paused, named)
		}
		q, err = c.ResumeQueue(ctx, &pb.ResumeQueueRequest{Name: named})
		ok(t, "ResumeQueue", err)
		got, err := c.GetQueue(ctx, &pb.GetQueueRequest{Name: named})
		ok(t, "GetQueue", err)
		if got.State != pb.Queue_RUNNING || got.RateLimits.MaxConcurrentDispatches != 3 {
			t.Errorf("got %v", got)
		}

		create(t, c, named, &pb.Task{Name: named + "/tasks/held", ScheduleTime: inAnHour(),
			MessageType: httpTask(&pb.HttpRequest{Url: "https://example.com"}).MessageType})
		ok(t, "DeleteQueue", c.DeleteQueue(ctx, &pb.DeleteQueueRequest{Name: named}))
		_, err = c.GetQueue(ctx, &pb.GetQueueRequest{Name: named})
		want(t, "GetQueue of a deleted one", err, codes.NotFound)
		_, err = c.GetTask(ctx, &pb.GetTaskRequest{Name: named + "/tasks/held"})
		want(t, "GetTask in a deleted queue", err, codes.NotFound)

		// UpdateQueue creates a queue that does not exist, and it knows no names of before.
		_, err = c.UpdateQueue(ctx, &pb.UpdateQueueRequest{Queue: &pb.Queue{Name: named}})
		ok(t, "UpdateQueue of none", err)
		create(t, c, named, &pb.Task{Name: named + "/tasks/held", ScheduleTime: inAnHour(),
			MessageType: httpTask(&pb.HttpRequest{Url: "https://example.com"}).MessageType})
	})
}

func TestQueuePages(t *testing.T) {
	eachTasks(t, func(t *testing.T, c *cloudtasks.Client) {
		parent := "projects/" + strings.ToLower(name(t)) + "/locations/here"
		var all []string
		for i := range 5 {
			q := fmt.Sprintf("%s/queues/q%d", parent, i)
			_, err := c.CreateQueue(t.Context(), &pb.CreateQueueRequest{Parent: parent, Queue: &pb.Queue{Name: q}})
			ok(t, "CreateQueue", err)
			all = append(all, q)
		}
		var found []string
		list := c.ListQueues(t.Context(), &pb.ListQueuesRequest{Parent: parent, PageSize: 2})
		for q, err := list.Next(); err != iterator.Done; q, err = list.Next() {
			ok(t, "ListQueues", err)
			found = append(found, q.Name)
		}
		slices.Sort(found)
		if !slices.Equal(found, all) {
			t.Errorf("listed %v, want %v", found, all)
		}
		locations := c.ListLocations(t.Context(), &locationpb.ListLocationsRequest{Name: strings.TrimSuffix(parent, "/locations/here")})
		if l, err := locations.Next(); err != nil || l.LocationId != "here" {
			t.Errorf("ListLocations: %v, %v", l, err)
		}
		l, err := c.GetLocation(t.Context(), &locationpb.GetLocationRequest{Name: parent})
		ok(t, "GetLocation", err)
		if l.Name != parent {
			t.Errorf("GetLocation: %v", l)
		}
	})
}

func TestTaskFields(t *testing.T) {
	eachTasks(t, func(t *testing.T, c *cloudtasks.Client) {
		read := make(chan struct{}) // a finished task can't be read
		ctx, s := t.Context(), newTarget(t, func(int) int { <-read; return http.StatusOK })
		finish := sync.OnceFunc(func() { close(read) })
		defer finish()
		q := newQueue(t, c, &pb.Queue{})
		due := time.Now().Add(2 * time.Second).UTC().Truncate(time.Microsecond)
		task := create(t, c, q.Name, &pb.Task{
			Name: q.Name + "/tasks/first", ScheduleTime: timestamppb.New(due), DispatchDeadline: durationpb.New(30 * time.Minute),
			MessageType: &pb.Task_HttpRequest{HttpRequest: &pb.HttpRequest{
				Url: s.URL + "/hook?a=b", HttpMethod: pb.HttpMethod_PUT, Body: []byte{0, 1, 255},
				Headers:             map[string]string{"X-Shop": "7", "Content-Type": "image/png"},
				AuthorizationHeader: &pb.HttpRequest_OidcToken{OidcToken: &pb.OidcToken{ServiceAccountEmail: "robot@example.com"}},
			}},
		})
		r := task.GetHttpRequest()
		if task.Name != q.Name+"/tasks/first" || !task.ScheduleTime.AsTime().Equal(due) ||
			task.DispatchDeadline.AsDuration() != 30*time.Minute ||
			r.HttpMethod != pb.HttpMethod_PUT || string(r.Body) != "\x00\x01\xff" || r.Headers["X-Shop"] != "7" ||
			r.GetOidcToken().GetAudience() != s.URL+"/hook?a=b" || task.View != pb.Task_FULL {
			t.Errorf("created %v", task)
		}
		basic, err := c.GetTask(ctx, &pb.GetTaskRequest{Name: task.Name})
		ok(t, "GetTask", err)
		if basic.View != pb.Task_BASIC || len(basic.GetHttpRequest().GetBody()) > 0 || basic.GetHttpRequest().GetUrl() != r.Url {
			t.Errorf("the basic view is %v", basic)
		}
		finish()
		got := s.next(t)
		h := got.Header
		if got.at.Before(due) || got.Method != "PUT" || string(got.body) != "\x00\x01\xff" || h.Get("X-Shop") != "7" ||
			h.Get("Content-Type") != "image/png" ||
			h.Get("X-CloudTasks-QueueName") != name(t) || h.Get("X-CloudTasks-TaskName") != "first" ||
			h.Get("X-CloudTasks-TaskRetryCount") != "0" ||
			h.Get("X-CloudTasks-TaskExecutionCount") != "0" || h.Get("X-CloudTasks-TaskETA") != fmt.Sprintf("%d.%06d", due.Unix(),
			due.Nanosecond()/1000) ||
			!strings.HasPrefix(h.Get("Authorization"), "Bearer ey") || !strings.HasPrefix(h.Get("User-Agent"), "Google-Cloud-Tasks") {
			t.Errorf("received %s %v %q", got.Method, h, got.body)
		}
		eventually(t, "the end of the task", func() bool {
			_, err := c.GetTask(ctx, &pb.GetTaskRequest{Name: task.Name})
			return err != nil
		})
		_, err = c.GetTask(ctx, &pb.GetTaskRequest{Name: task.Name})
		want(t, "GetTask of a finished one", err, codes.NotFound)
		_, err = c.CreateTask(ctx, &pb.CreateTaskRequest{Parent: q.Name,
			Task: &pb.Task{Name: task.Name, MessageType: httpTask(&pb.HttpRequest{Url: s.URL}).MessageType}})
		want(t, "CreateTask with the name of a finished one", err, codes.AlreadyExists)
	})
}

func TestMessagesAreBounded(t *testing.T) {
	eachTasks(t, func(t *testing.T, c *cloudtasks.Client) {
		q := newQueue(t, c, &pb.Queue{})
		for size, code := range map[int]codes.Code{1 << 20: codes.OK, 1<<20 + 1: codes.InvalidArgument, 3 << 20: codes.ResourceExhausted} {
			task := httpTask(&pb.HttpRequest{Url: "https://example.com", Body: make([]byte, size)})
			task.ScheduleTime = inAnHour()
			_, err := c.CreateTask(t.Context(), &pb.CreateTaskRequest{Parent: q.Name, Task: task})
			want(t, fmt.Sprint("a body of ", size, " bytes"), err, code)
		}
		// The connection goes on.
		_, err := c.GetQueue(t.Context(), &pb.GetQueueRequest{Name: q.Name})
		ok(t, "GetQueue", err)
	})
}

func TestTaskRefusals(t *testing.T) {
	eachTasks(t, func(t *testing.T, c *cloudtasks.Client) {
		q := newQueue(t, c, &pb.Queue{})
		good := &pb.HttpRequest{Url: "https://example.com"}
		for what, task := range map[string]*pb.Task{
			"no target":            {},
			"another queue's name": {Name: location + "/queues/another/tasks/t", MessageType: httpTask(good).MessageType},
			"a short name":         {Name: "t", MessageType: httpTask(good).MessageType},
			"no scheme":            httpTask(&pb.HttpRequest{Url: "example.com"}),
			"a body of a GET": httpTask(&pb.HttpRequest{Url: "https://example.com", HttpMethod: pb.HttpMethod_GET,
				Body: []byte("x")}),
			"a deadline of 14 seconds":  {DispatchDeadline: durationpb.New(14 * time.Second), MessageType: httpTask(good).MessageType},
			"a deadline of 31 minutes":  {DispatchDeadline: durationpb.New(31 * time.Minute), MessageType: httpTask(good).MessageType},
			"a header with a line feed": httpTask(&pb.HttpRequest{Url: "https://example.com", Headers: map[string]string{"A": "b\nc"}}),
			"a relative URI":            {MessageType: &pb.Task_AppEngineHttpRequest{AppEngineHttpRequest: &pb.AppEngineHttpRequest{RelativeUri: "no/slash"}}},
		} {
			_, err := c.CreateTask(t.Context(), &pb.CreateTaskRequest{Parent: q.Name, Task: task})
			want(t, what, err, codes.InvalidArgument)
		}
		_, err := c.CreateTask(t.Context(), &pb.CreateTaskRequest{Parent: location + "/queues/missing", Task: httpTask(good)})
		want(t, "a queue that does not exist", err, codes.NotFound)
	})
}

func TestTaskNamesAreRemembered(t *testing.T) {
	eachTasks(t, func(t *testing.T, c *cloudtasks.Client) {
		q := newQueue(t, c, &pb.Queue{})
		task := &pb.Task{Name: q.Name + "/tasks/once", ScheduleTime: inAnHour(),
			MessageType: httpTask(&pb.HttpRequest{Url: "https://example.com"}).MessageType}
		create(t, c, q.Name, task)
		_, err := c.CreateTask(t.Context(), &pb.CreateTaskRequest{Parent: q.Name, Task: task})
		want(t, "CreateTask again", err, codes.AlreadyExists)
		ok(t, "DeleteTask", c.DeleteTask(t.Context(), &pb.DeleteTaskRequest{Name: task.Name}))
		_, err = c.CreateTask(t.Context(), &pb.CreateTaskRequest{Parent: q.Name, Task: task})
		want(t, "CreateTask after DeleteTask", err, codes.AlreadyExists)
		want(t, "DeleteTask again", c.DeleteTask(t.Context(), &pb.DeleteTaskRequest{Name: task.Name}), codes.NotFound)
	})
}

func TestRetries(t *testing.T) {
	eachTasks(t, func(t *testing.T, c *cloudtasks.Client) {
		s := newTarget(t, func(n int) int {
			if n < 4 {
				return http.StatusNotFound
			}
			return http.StatusNoContent
		})
		q := newQueue(t, c, &pb.Queue{RetryConfig: &pb.RetryConfig{MaxAttempts: -1, MinBackoff: durationpb.New(50 * time.Millisecond),
			MaxDoublings: 1}})
		create(t, c, q.Name, httpTask(&pb.HttpRequest{Url: s.URL}))
		for n := range 4 {
			h := s.next(t).Header
			number := fmt.Sprint(n)
			if h.Get("X-CloudTasks-TaskRetryCount") != number || h.Get("X-CloudTasks-TaskExecutionCount") != number {
				t.Errorf("attempt %d has %v", n, h)
			}
			if n > 0 && (h.Get("X-CloudTasks-TaskPreviousResponse") != "404" || h.Get("X-CloudTasks-TaskRetryReason") != "NOT_FOUND") {
				t.Errorf("attempt %d has %v", n, h)
			}
		}
	})
}

func TestAttemptsEnd(t *testing.T) {
	eachTasks(t, func(t *testing.T, c *cloudtasks.Client) {
		s := newTarget(t, always(http.StatusInternalServerError))
		q := newQueue(t, c, &pb.Queue{RetryConfig: &pb.RetryConfig{MaxAttempts: 2, MinBackoff: durationpb.New(10 * time.Millisecond)}})
		task := create(t, c, q.Name, httpTask(&pb.HttpRequest{Url: s.URL}))
		s.next(t)
		s.next(t)
		eventually(t, "the end of the task", func() bool {
			_, err := c.GetTask(t.Context(), &pb.GetTaskRequest{Name: task.Name})
			return err != nil
		})
		if n := len(s.requests); n > 0 {
			t.Errorf("%d more requests have come", n)
		}
		// Both bounds must be reached: the attempts of this one go on for a minute.
		long, err := c.CreateQueue(t.Context(), &pb.CreateQueueRequest{Parent: location,
			Queue: &pb.Queue{Name: queueName(t) + "-long", RetryConfig: &pb.RetryConfig{
				MaxAttempts: 2, MinBackoff: durationpb.New(100 * time.Millisecond), MaxBackoff: durationpb.New(100 * time.Millisecond),
				MaxRetryDuration: durationpb.New(time.Minute),
			}}})
		ok(t, "CreateQueue", err)
		create(t, c, long.Name, httpTask(&pb.HttpRequest{Url: s.URL}))
		for range 4 {
			s.next(t)
		}
	})
}

func TestRunListAndPurge(t *testing.T) {
	eachTasks(t, func(t *testing.T, c *cloudtasks.Client) {
		ctx, s := t.Context(), newTarget(t, always(http.StatusServiceUnavailable))
		q := newQueue(t, c, &pb.Queue{RetryConfig: &pb.RetryConfig{MinBackoff: durationpb.New(time.Hour),
			MaxBackoff: durationpb.New(time.Hour)}})
		var all []string
		for i := range 7 {
			task := httpTask(&pb.HttpRequest{Url: s.URL})
			task.Name, task.ScheduleTime = fmt.Sprintf("%s/tasks/t%d", q.Name, i), inAnHour()
			all = append(all, create(t, c, q.Name, task).Name)
		}
		var found []string
		list := c.ListTasks(ctx, &pb.ListTasksRequest{Parent: q.Name, PageSize: 3})
		for task, err := list.Next(); err != iterator.Done; task, err = list.Next() {
			ok(t, "ListTasks", err)
			found = append(found, task.Name)
		}
		slices.Sort(found)
		if !slices.Equal(found, all) {
			t.Errorf("listed %v, want %v", found, all)
		}
		_, err := c.RunTask(ctx, &pb.RunTaskRequest{Name: all[0]})
		ok(t, "RunTask", err)
		s.next(t)
		eventually(t, "the outcome", func() bool {
			task, err := c.GetTask(ctx, &pb.GetTaskRequest{Name: all[0]})
			ok(t, "GetTask", err)
			return task.DispatchCount == 1 && task.ResponseCount == 1 &&
				task.LastAttempt.GetResponseStatus().GetCode() == int32(codes.Unavailable)
		})
		purged, err := c.PurgeQueue(ctx, &pb.PurgeQueueRequest{Name: q.Name})
		ok(t, "PurgeQueue", err)
		if purged.PurgeTime == nil {
			t.Error("the purged queue has no purge_time")
		}
		if task, err := c.ListTasks(ctx, &pb.ListTasksRequest{Parent: q.Name}).Next(); err != iterator.Done {
			t.Errorf("after a purge there is %v, %v", task, err)
		}
		_, err = c.GetTask(ctx, &pb.GetTaskRequest{Name: all[1]})
		want(t, "GetTask of a purged one", err, codes.FailedPrecondition)
	})
}

func TestPausedQueueHoldsTasks(t *testing.T) {
	eachTasks(t, func(t *testing.T, c *cloudtasks.Client) {
		s := newTarget(t, always(http.StatusOK))
		q := newQueue(t, c, &pb.Queue{RateLimits: &pb.RateLimits{MaxDispatchesPerSecond: 20, MaxConcurrentDispatches: 2}})
		_, err := c.PauseQueue(t.Context(), &pb.PauseQueueRequest{Name: q.Name})
		ok(t, "PauseQueue", err)
		for range 5 {
			create(t, c, q.Name, httpTask(&pb.HttpRequest{Url: s.URL}))
		}
		resumed := time.Now()
		_, err = c.ResumeQueue(t.Context(), &pb.ResumeQueueRequest{Name: q.Name})
		ok(t, "ResumeQueue", err)
		var last time.Time
		for range 5 {
			if last = s.next(t).at; last.Before(resumed) {
				t.Error("a request has come while the queue was paused")
			}
		}
		// 5 starts, 4 in any 200 ms.
		if took := last.Sub(resumed); took < 100*time.Millisecond {
			t.Errorf("5 tasks at 20 a second took %v", took)
		}
	})
}

func TestAppEngineTasks(t *testing.T) {
	eachTasks(t, func(t *testing.T, c *cloudtasks.Client) {
		q := newQueue(t, c, &pb.Queue{})
		task := create(t, c, q.Name, &pb.Task{Name: q.Name + "/tasks/engine",
			MessageType: &pb.Task_AppEngineHttpRequest{AppEngineHttpRequest: &pb.AppEngineHttpRequest{
				RelativeUri: "/work/" + name(t), Body: []byte("x"), AppEngineRouting: &pb.AppEngineRouting{Service: "worker"},
			}}})
		if r := task.GetAppEngineHttpRequest(); r.GetRelativeUri() != "/work/"+name(t) || r.GetAppEngineRouting().GetService() != "worker" {
			t.Errorf("created %v", task)
		}
		h := engineRequest(t, "/work/"+name(t)).Header
		if h.Get("X-AppEngine-QueueName") != name(t) || h.Get("X-AppEngine-TaskName") != "engine" ||
			h.Get("X-AppEngine-TaskRetryCount") != "0" || h.Get("X-AppEngine-TaskETA") == "" {
			t.Errorf("received %v", h)
		}
	})
}

func TestPolicies(t *testing.T) {
	eachTasks(t, func(t *testing.T, c *cloudtasks.Client) {
		ctx, q := t.Context(), newQueue(t, c, &pb.Queue{})
		policy, err := c.GetIamPolicy(ctx, &iampb.GetIamPolicyRequest{Resource: q.Name})
		ok(t, "GetIamPolicy", err)
		if len(policy.Bindings) > 0 {
			t.Errorf("the policy is %v", policy)
		}
		_, err = c.SetIamPolicy(ctx, &iampb.SetIamPolicyRequest{Resource: q.Name,
			Policy: &iampb.Policy{Bindings: []*iampb.Binding{{Role: "roles/owner"}}}})
		want(t, "SetIamPolicy", err, codes.Unimplemented)
		may, err := c.TestIamPermissions(ctx, &iampb.TestIamPermissionsRequest{Resource: q.Name,
			Permissions: []string{"cloudtasks.tasks.create", "storage.objects.get"}})
		ok(t, "TestIamPermissions", err)
		if !slices.Equal(may.Permissions, []string{"cloudtasks.tasks.create"}) {
			t.Errorf("the permissions are %v", may.Permissions)
		}
	})
}

func TestAccountsAreApart(t *testing.T) {
	eachTasks(t, func(t *testing.T, c *cloudtasks.Client) {
		ctx, q, stranger := t.Context(), newQueue(t, c, &pb.Queue{}), tasksClient(t, other)
		task := httpTask(&pb.HttpRequest{Url: "https://example.com"})
		task.ScheduleTime = inAnHour()
		task = create(t, c, q.Name, task)
		_, err := stranger.GetQueue(ctx, &pb.GetQueueRequest{Name: q.Name})
		want(t, "GetQueue of another account", err, codes.NotFound)
		_, err = stranger.GetTask(ctx, &pb.GetTaskRequest{Name: task.Name})
		want(t, "GetTask of another account", err, codes.NotFound)
		_, err = stranger.CreateQueue(ctx, &pb.CreateQueueRequest{Parent: location, Queue: &pb.Queue{Name: q.Name}})
		ok(t, "CreateQueue of another account with the same name", err)
		_, err = stranger.GetTask(ctx, &pb.GetTaskRequest{Name: task.Name})
		want(t, "GetTask of another account in a queue of the same name", err, codes.NotFound)
		_, err = tasksClient(t, "sk_wrong").GetQueue(ctx, &pb.GetQueueRequest{Name: q.Name})
		want(t, "a wrong key", err, codes.Unauthenticated)
	})
}
