package google

import (
	"strconv"
	"strings"
	"time"

	"cloud.google.com/go/scheduler/apiv1/schedulerpb"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
)

// Bounds and defaults of Scheduler jobs.
const (
	defaultJobDeadline = 3 * time.Minute
	defaultAppDeadline = 10 * time.Minute
	maxRetryCount      = 5
	jobMinBackoff      = 5 * time.Second
	jobMaxBackoff      = time.Hour
	jobDoublings       = 5
	maxDescription     = 500
)

// jobFields are the names of a Scheduler job's fields by those of its schedule.
var jobFields = map[string]string{
	"url": "job.http_target.uri", "headers": "job.http_target.headers", "body_base64": "job.http_target.body",
	"method": "job.http_target.http_method",
	"auth":   "job.http_target.authorization_header", "timeout": "job.attempt_deadline", "cron": "job.schedule",
	"repeat_every": "job.schedule",
	"timezone":     "job.time_zone", "description": "job.description",
}

// readTarget reads the request that a Scheduler job makes.
func (a *API) readTarget(j *schedulerpb.Job) (o *outgoing, err error) {
	o = &outgoing{deadline: defaultJobDeadline}
	switch target := j.GetTarget().(type) {
	case *schedulerpb.Job_PubsubTarget:
		return nil, unsupported("job.pubsub_target", "there is no Pub/Sub; give an HTTP target")
	case *schedulerpb.Job_AppEngineHttpTarget:
		t := target.AppEngineHttpTarget
		o.headers, o.body, o.appEngine, o.deadline = t.GetHeaders(), t.GetBody(), true, defaultAppDeadline
		if o.method, err = methodName(t.GetHttpMethod().String(), "job.app_engine_http_target.http_method"); err != nil {
			return nil, err
		}
		routing := t.GetAppEngineRouting()
		if !routable(routing.GetService(), routing.GetVersion(), routing.GetInstance()) {
			return nil, invalid("job.app_engine_http_target.app_engine_routing",
				"service, version and instance must have letters, digits and hyphens, 63 at most")
		}
		if o.url, err = a.appEngineURL("job.app_engine_http_target", t.GetRelativeUri()); err != nil {
			return nil, err
		}
	case *schedulerpb.Job_HttpTarget:
		t := target.HttpTarget
		o.url, o.headers, o.body = t.GetUri(), t.GetHeaders(), t.GetBody()
		if o.method, err = methodName(t.GetHttpMethod().String(), "job.http_target.http_method"); err != nil {
			return nil, err
		}
		if err := checkURL("job.http_target.uri", o.url); err != nil {
			return nil, err
		}
		switch token := t.GetAuthorizationHeader().(type) {
		case *schedulerpb.HttpTarget_OidcToken:
			o.auth = oidc(token.OidcToken.GetServiceAccountEmail(), token.OidcToken.GetAudience(), o.url)
		case *schedulerpb.HttpTarget_OauthToken:
			o.auth = oidc(token.OauthToken.GetServiceAccountEmail(), "", o.url)
		}
	default:
		return nil, invalid("job.http_target", "job.target must be set: give http_target or app_engine_http_target")
	}
	if d := j.GetAttemptDeadline(); d != nil && !(o.appEngine && d.AsDuration() == 0) {
		if err := between("job.attempt_deadline", d, leastDeadline, job.MaxGoogleTimeout); err != nil {
			return nil, err
		}
		o.deadline = d.AsDuration()
	}
	return o, nil
}

// completeJob checks the settings of a job and adds the defaults.
func completeJob(j *schedulerpb.Job) error {
	if len([]rune(j.GetDescription())) > maxDescription {
		return invalid("job.description", "description may have 500 characters")
	}
	r := j.GetRetryConfig()
	if r == nil {
		r = &schedulerpb.RetryConfig{}
		j.RetryConfig = r
	}
	if n := r.GetRetryCount(); n < 0 || n > maxRetryCount {
		return invalid("job.retry_config.retry_count", "retry_count must be from 0 to 5")
	}
	if r.GetMaxDoublings() == 0 {
		r.MaxDoublings = jobDoublings
	}
	if n := r.GetMaxDoublings(); n < 0 || n > maxDoublings {
		return invalid("job.retry_config.max_doublings", "max_doublings must be from 0 to 16")
	}
	if r.MinBackoffDuration == nil {
		r.MinBackoffDuration = durationpb.New(jobMinBackoff)
	}
	if r.MaxBackoffDuration == nil {
		r.MaxBackoffDuration = durationpb.New(max(jobMaxBackoff, r.MinBackoffDuration.AsDuration()))
	}
	if r.MaxRetryDuration == nil {
		r.MaxRetryDuration = durationpb.New(0)
	}
	if err := between("job.retry_config.min_backoff_duration", r.MinBackoffDuration, 0, maxBackoff); err != nil {
		return err
	}
	if err := between("job.retry_config.max_backoff_duration", r.MaxBackoffDuration, r.MinBackoffDuration.AsDuration(),
		maxBackoff); err != nil {
		return err
	}
	return between("job.retry_config.max_retry_duration", r.MaxRetryDuration, 0, maxRetryDuration)
}

// scheduleOf adds when a job runs.
func (f *fields) scheduleOf(j *schedulerpb.Job) error {
	text := strings.Join(strings.Fields(j.GetSchedule()), " ")
	if text == "" {
		return invalid("job.schedule", "schedule is required: a cron expression, as in */5 * * * *")
	}
	zone := j.GetTimeZone()
	if strings.EqualFold(zone, "utc") || strings.EqualFold(zone, "gmt") {
		zone = "UTC"
	}
	every, ok := interval(text)
	if ok {
		f.Seconds("repeat_every", every)
		return nil
	}
	cron, ok := english(text)
	if !ok {
		cron = text
	}
	if strings.HasPrefix(cron, "@") || len(strings.Fields(cron)) != 5 {
		return invalid("job.schedule", "schedule must be a cron expression with 5 fields, as in */5 * * * *, or one like every 5 minutes, every day 09:00 or every monday,friday 09:00")
	}
	f.Text("cron", cron)
	if zone != "" {
		f.Text("timezone", zone)
	}
	return nil
}

var units = map[string]time.Duration{
	"minute": time.Minute, "minutes": time.Minute, "min": time.Minute, "mins": time.Minute, "hour": time.Hour, "hours": time.Hour,
}

// interval reads a schedule like "every 5 minutes".
func interval(text string) (time.Duration, bool) {
	words := strings.Fields(strings.ToLower(text))
	if len(words) != 3 || words[0] != "every" {
		return 0, false
	}
	n, err := strconv.Atoi(words[1])
	unit := units[words[2]]
	if err != nil || unit == 0 || n < 1 || n > 100_000 {
		return 0, false
	}
	return time.Duration(n) * unit, true
}

var days = map[string]string{
	"sunday": "0", "monday": "1", "tuesday": "2", "wednesday": "3", "thursday": "4", "friday": "5", "saturday": "6",
	"sun": "0", "mon": "1", "tue": "2", "wed": "3", "thu": "4", "fri": "5", "sat": "6",
}

// english reads a schedule like "every day 09:00" as a cron expression.
func english(text string) (cron string, ok bool) {
	words := strings.Fields(strings.ToLower(text))
	if len(words) != 3 || words[0] != "every" {
		return "", false
	}
	at, err := time.Parse("15:04", words[2])
	if err != nil {
		return "", false
	}
	var on []string
	if words[1] != "day" {
		for day := range strings.SplitSeq(words[1], ",") {
			number, ok := days[day]
			if !ok {
				return "", false
			}
			on = append(on, number)
		}
	} else {
		on = []string{"*"}
	}
	return strconv.Itoa(at.Minute()) + " " + strconv.Itoa(at.Hour()) + " * * " + strings.Join(on, ","), true
}

// createJob returns the body of the request that creates or replaces a schedule.
func (a *API) createJob(j *schedulerpb.Job) (rawjson.Value, error) {
	if err := completeJob(j); err != nil {
		return nil, err
	}
	o, err := a.readTarget(j)
	if err != nil {
		return nil, err
	}
	config := j.GetRetryConfig()
	r := retries{
		attempts: int(config.GetRetryCount()) + 1, within: config.GetMaxRetryDuration().AsDuration(),
		least: config.GetMinBackoffDuration().AsDuration(),
		most:  config.GetMaxBackoffDuration().AsDuration(), doublings: int(config.GetMaxDoublings()),
	}
	j.UserUpdateTime = stamp(a.Service.Now())
	j.AttemptDeadline = durationpb.New(o.deadline)
	view, err := protojson.Marshal(jobView(j))
	if err != nil {
		return nil, err
	}
	d := job.Dialect{API: job.DialectCloudScheduler, Name: j.GetName(), MaxAttempts: r.attempts, RetryFor: r.within,
		View: rawjson.Value(view)}
	if o.appEngine {
		d.Endpoint = job.AppEngine
	}
	f := fields{make(rawjson.Fields, 0, 16)}
	if err := o.describe(&f, "job.http_target"); err != nil {
		return nil, err
	}
	if err := f.scheduleOf(j); err != nil {
		return nil, err
	}
	id := job.LastPart(j.GetName())
	f.Text("name", id[:min(len(id), 255)])
	if j.GetDescription() != "" {
		f.Text("description", j.GetDescription())
	}
	f.Text("retry_delay", r.delay())
	f.Add("dialect", d.Value())
	return f.Object(), nil
}

// jobView returns what is kept of a job beside the fields of its schedule.
func jobView(j *schedulerpb.Job) *schedulerpb.Job {
	v := &schedulerpb.Job{Schedule: j.GetSchedule(), TimeZone: j.GetTimeZone(), UserUpdateTime: j.GetUserUpdateTime(),
		RetryConfig: j.GetRetryConfig()}
	switch target := j.GetTarget().(type) {
	case *schedulerpb.Job_AppEngineHttpTarget:
		t := proto.Clone(target.AppEngineHttpTarget).(*schedulerpb.AppEngineHttpTarget)
		t.Body, t.Headers = nil, nil
		v.Target = &schedulerpb.Job_AppEngineHttpTarget{AppEngineHttpTarget: t}
	case *schedulerpb.Job_HttpTarget:
		t := &schedulerpb.HttpTarget{}
		if token, ok := target.HttpTarget.GetAuthorizationHeader().(*schedulerpb.HttpTarget_OauthToken); ok {
			t.AuthorizationHeader = token
		}
		v.Target = &schedulerpb.Job_HttpTarget{HttpTarget: t}
	}
	return v
}

// readJob returns a schedule as a job, without what its runs say. ok is false if it is
// none.
func readJob(s *job.Schedule) (j *schedulerpb.Job, ok bool) {
	spec := job.ReadSpec(s.Args)
	if !spec.Dialect.Speaks(job.DialectCloudScheduler) {
		return nil, false
	}
	j = &schedulerpb.Job{}
	_ = protojson.UnmarshalOptions{DiscardUnknown: true}.Unmarshal(spec.Dialect.View, j) // it was written here
	j.Name = spec.Dialect.Name
	if s.Description != nil {
		j.Description = *s.Description
	}
	method := schedulerpb.HttpMethod(schedulerpb.HttpMethod_value[strings.ToUpper(spec.Method)])
	if t := j.GetAppEngineHttpTarget(); t != nil {
		t.HttpMethod, t.Headers, t.Body = method, flat(job.HeaderOf(spec.Headers)), bodyOf(&spec)
	} else {
		t := j.GetHttpTarget()
		if t == nil {
			t = &schedulerpb.HttpTarget{}
			j.Target = &schedulerpb.Job_HttpTarget{HttpTarget: t}
		}
		t.Uri, t.HttpMethod, t.Headers, t.Body = spec.URL, method, flat(job.HeaderOf(spec.Headers)), bodyOf(&spec)
		if o := spec.Auth.OIDC; o != nil && t.AuthorizationHeader == nil {
			t.AuthorizationHeader = &schedulerpb.HttpTarget_OidcToken{OidcToken: &schedulerpb.OidcToken{ServiceAccountEmail: o.Email,
				Audience: o.Audience}}
		}
	}
	j.AttemptDeadline = durationpb.New(spec.Timeout)
	j.State = schedulerpb.Job_ENABLED
	if !s.Live() {
		j.State = schedulerpb.Job_PAUSED
	}
	return j, true
}
