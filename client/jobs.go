package client

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// Condition makes a change fail with status 412 unless it holds: an IfMatch, or IfNew.
type Condition interface{ add(http.Header) }

// IfMatch holds if the record still has this ETag. Of several, one must match.
type IfMatch string

func (tag IfMatch) add(header http.Header) { header.Add("If-Match", string(tag)) }

// IfNew holds if there is no such record yet.
var IfNew Condition = ifNew{}

type ifNew struct{}

func (ifNew) add(header http.Header) { header.Set("If-None-Match", "*") }

// condition returns the headers of a conditional change.
func condition(conditions []Condition) http.Header {
	header := http.Header{}
	for _, c := range conditions {
		c.add(header)
	}
	return header
}

// identify gives a request a random RequestID unless it has one. It reports whether a
// conflict can only be with an earlier try of the same call.
func (c *Client) identify(request *JobRequest) (own bool) {
	if request.RequestID != "" || c.config.NoAutomaticKeys {
		return false
	}
	request.RequestID = randomKey()
	return request.IdempotencyKey == ""
}

// unsafe reports whether a request must not be made twice: an idempotency key is free
// again when its job has ended, which may be before the call is repeated.
func unsafe(request *JobRequest) bool { return request.RequestID == "" }

func randomKey() string { return "auto-" + rand.Text() }

// CreateJob creates a job, or a schedule with its first run. If another job holds the
// idempotency key, that job is returned, and its Job.HasConflict is true.
func (c *Client) CreateJob(ctx context.Context, request JobRequest) (*JobRecord, error) {
	own := c.identify(&request)
	record, err := fetch[JobRecord](ctx, c, call{method: http.MethodPost, path: "/api/jobs", body: request, once: unsafe(&request)})
	if record != nil && own {
		record.Job.HasConflict = false // a job of an earlier try of this call
	}
	return record, err
}

// CreateGroupJobs creates a job for each target of request.Group, in one transaction. The
// records are in the order of the targets. If other jobs hold the idempotency key, these
// are returned, and their Job.HasConflict is true.
func (c *Client) CreateGroupJobs(ctx context.Context, request JobRequest) ([]JobRecord, error) {
	own := c.identify(&request)
	records, err := fetch[[]JobRecord](ctx, c, call{method: http.MethodPost, path: "/api/jobs", body: request, once: unsafe(&request)})
	if err != nil {
		return nil, err
	}
	for i := range *records {
		if own {
			(*records)[i].Job.HasConflict = false
		}
	}
	return *records, nil
}

// CreateJobs creates up to 1,000 jobs in one transaction, all or none. The records
// are in the order of the requests.
func (c *Client) CreateJobs(ctx context.Context, requests []JobRequest) ([]JobRecord, error) {
	call, automatic := c.batch(requests)
	records, err := fetch[[]JobRecord](ctx, c, call)
	if err != nil {
		return nil, err
	}
	for i := range *records {
		if i < len(automatic) && automatic[i] {
			(*records)[i].Job.HasConflict = false
		}
	}
	return *records, nil
}

// CreateJobsThen is CreateJobs with another job that waits until all of them are final.
// Its body gets $batch, which says how they have ended.
func (c *Client) CreateJobsThen(ctx context.Context, requests []JobRequest, then JobRequest) (*BatchThen, error) {
	call, automatic := c.batch(append(slices.Clone(requests), then))
	items := call.body.([]JobRequest)
	last := len(items) - 1
	call.body = struct {
		Jobs []JobRequest `json:"jobs"`
		Then JobRequest   `json:"then"`
	}{items[:last], items[last]}
	got, err := c.do(ctx, call)
	if err != nil {
		return nil, err
	}
	answer, err := decode[struct {
		Data []JobRecord `json:"data"`
		Then JobRecord   `json:"then"`
	}](got)
	if err != nil {
		return nil, err
	}
	result := &BatchThen{Jobs: answer.Data, Then: answer.Then}
	for i := range result.Jobs {
		if i < last && automatic[i] {
			result.Jobs[i].Job.HasConflict = false
		}
	}
	if automatic[last] {
		result.Then.Job.HasConflict = false
	}
	return result, nil
}

// CreateJobsMinimal does what CreateJobs does and returns the ids only.
func (c *Client) CreateJobsMinimal(ctx context.Context, requests []JobRequest) ([]MinimalJob, error) {
	call, automatic := c.batch(requests)
	call.header = http.Header{"Prefer": {"return=minimal"}}
	records, err := fetch[[]MinimalJob](ctx, c, call)
	if err != nil {
		return nil, err
	}
	for i := range *records {
		if i < len(automatic) && automatic[i] {
			(*records)[i].HasConflict = false
		}
	}
	return *records, nil
}

// CreateJobsSeparately creates those of up to 1,000 jobs that are right, and says of
// each what became of it.
func (c *Client) CreateJobsSeparately(ctx context.Context, requests []JobRequest) ([]BatchOutcome, error) {
	call, automatic := c.batch(requests)
	call.query = url.Values{"atomic": {"false"}}
	outcomes, err := fetch[[]BatchOutcome](ctx, c, call)
	if err != nil {
		return nil, err
	}
	for i, outcome := range *outcomes {
		if i < len(automatic) && automatic[i] && outcome.Job != nil {
			outcome.Job.Job.HasConflict = false
		}
	}
	return *outcomes, nil
}

// batch returns the call that creates jobs, and which of them can only conflict with
// an earlier try of the same call.
func (c *Client) batch(requests []JobRequest) (call, []bool) {
	body, automatic, once := slices.Clone(requests), make([]bool, len(requests)), false
	for i := range body {
		automatic[i] = c.identify(&body[i])
		once = once || unsafe(&body[i])
	}
	if body == nil {
		body = []JobRequest{} // refused by the service, with a sentence
	}
	return call{method: http.MethodPost, path: "/api/jobs/batch", body: body, once: once}, automatic
}

// PreviewJob says when a job would run, and creates nothing.
func (c *Client) PreviewJob(ctx context.Context, request JobRequest) (*Preview, error) {
	return fetch[Preview](ctx, c, call{method: http.MethodPost, path: "/api/preview", body: request})
}

// ListJobs iterates over jobs.
func (c *Client) ListJobs(ctx context.Context, filter JobFilter) iter.Seq2[JobRecord, error] {
	return list[JobRecord](ctx, c, "/api/jobs", filter.values())
}

// CountJobs counts jobs by state.
func (c *Client) CountJobs(ctx context.Context, filter JobFilter) (*JobCounts, error) {
	query := filter.values()
	query.Del("limit")
	got, err := c.do(ctx, call{method: http.MethodGet, path: "/api/jobs/counts", query: query})
	if err != nil {
		return nil, err
	}
	value, err := decode[struct {
		Data    JobCounts `json:"data"`
		Limit   int64     `json:"limit"`
		Partial bool      `json:"partial"`
	}](got)
	value.Data.Limit, value.Data.Partial = value.Limit, value.Partial
	return &value.Data, err
}

// GetJob returns a job.
func (c *Client) GetJob(ctx context.Context, job Ref) (*JobRecord, error) {
	return c.job(ctx, call{method: http.MethodGet, path: "/api/jobs" + element(job)})
}

// EditJob changes a job that has not started.
func (c *Client) EditJob(ctx context.Context, job Ref, edit Edit, conditions ...Condition) (*JobRecord, error) {
	return c.job(ctx, call{method: http.MethodPatch, path: "/api/jobs" + element(job), body: edit, header: condition(conditions)})
}

// job makes a call that answers with a job and its revision.
func (c *Client) job(ctx context.Context, call call) (*JobRecord, error) {
	got, err := c.do(ctx, call)
	if err != nil {
		return nil, err
	}
	value, err := decode[enveloped[JobRecord]](got)
	value.Data.ETag = got.Header.Get("ETag")
	return &value.Data, err
}

// GetJobDetails returns a job with its attempts.
func (c *Client) GetJobDetails(ctx context.Context, job Ref) (*JobDetails, error) {
	return fetch[JobDetails](ctx, c, call{method: http.MethodGet, path: "/api/jobs" + element(job) + "/details"})
}

// ListJobRevisions returns the latest 50 edits of a job, the latest first.
func (c *Client) ListJobRevisions(ctx context.Context, job Ref) ([]Revision, error) {
	return c.revisions(ctx, "/api/jobs"+element(job)+"/revisions")
}

func (c *Client) revisions(ctx context.Context, at string) ([]Revision, error) {
	revisions, err := fetch[[]Revision](ctx, c, call{method: http.MethodGet, path: at})
	if err != nil {
		return nil, err
	}
	return *revisions, nil
}

// RunJob makes a job due now.
func (c *Client) RunJob(ctx context.Context, job Ref) (*JobRecord, error) {
	return c.act(ctx, "/api/jobs"+element(job)+"/run", nil, true)
}

// RerunJob creates a job like a final one. Edit lists fields that differ; it may be
// nil. Another call for the job with the same key returns the job of the first one, and
// its Job.HasConflict is true; without a key, the call gets a random one.
func (c *Client) RerunJob(ctx context.Context, job Ref, edit Edit, key ...IdempotencyKey) (*JobRecord, error) {
	if edit == nil {
		edit = Edit{}
	}
	call := call{method: http.MethodPost, path: "/api/jobs" + element(job) + "/rerun", body: edit}
	automatic := len(key) == 0
	switch {
	case !automatic:
		call.header = http.Header{"Idempotency-Key": {string(key[0])}}
	case c.config.NoAutomaticKeys:
		call.once = true
	default:
		call.header = http.Header{"Idempotency-Key": {randomKey()}}
	}
	record, err := fetch[JobRecord](ctx, c, call)
	if record != nil && automatic {
		record.Job.HasConflict = false // a job of an earlier try of this call
	}
	return record, err
}

// IdempotencyKey is sent in the header Idempotency-Key. The service remembers it for a
// day.
type IdempotencyKey string

// CancelJob cancels a job. A final job stays as it is.
func (c *Client) CancelJob(ctx context.Context, job Ref, conditions ...Condition) (*JobRecord, error) {
	return fetch[JobRecord](ctx, c, call{method: http.MethodPost, path: "/api/jobs" + element(job) + "/cancel",
		header: condition(conditions)})
}

// act makes a POST that answers with a job.
func (c *Client) act(ctx context.Context, at string, body any, once bool) (*JobRecord, error) {
	return fetch[JobRecord](ctx, c, call{method: http.MethodPost, path: at, body: body, once: once})
}

// CancelJobs cancels up to 100 jobs, by their integer ids or UUIDs.
func (c *Client) CancelJobs(ctx context.Context, jobs ...Ref) ([]JobRecord, error) {
	body := struct {
		JobIDs []Ref `json:"job_ids"`
	}{jobs}
	records, err := fetch[[]JobRecord](ctx, c, call{method: http.MethodPost, path: "/api/jobs/cancel", body: body})
	if err != nil {
		return nil, err
	}
	return *records, nil
}

// WaitJob returns a job once it is final. It asks again and again, with growing
// pauses of up to five seconds, until the context ends.
func (c *Client) WaitJob(ctx context.Context, job Ref) (*JobRecord, error) {
	return poll(ctx, func() (*JobRecord, bool, error) {
		record, err := c.GetJob(ctx, job)
		return record, err == nil && record.Job.Final(), err
	})
}

// poll asks until there is an end or an error.
func poll[T any](ctx context.Context, ask func() (T, bool, error)) (T, error) {
	for pause := 100 * time.Millisecond; ; pause = min(pause*3/2, 5*time.Second) {
		value, done, err := ask()
		if done || err != nil {
			return value, err
		}
		if err := sleep(ctx, pause); err != nil {
			return value, fmt.Errorf("punctual: waiting for the end: %w", err)
		}
	}
}

// Report is what the target of a job with a Completion reports. Set one of Result,
// Error and Progress.
type Report struct {
	// Result completes the job.
	Result any `json:"result,omitempty"`
	// Error fails the attempt. Retry false ends the job with it.
	Error string `json:"error,omitempty"`
	Retry *bool  `json:"retry,omitempty"`
	// Progress, 0 to 100, and Message are a sign of life.
	Progress *float64 `json:"progress,omitempty"`
	Message  string   `json:"message,omitempty"`
}

// completionsPath is where completions are reported; a token follows.
const completionsPath = "/api/completions/"

// CompleteAttempt reports to the address in the header X-Punctual-Complete of a job's
// request. The header isn't signed, so an address with another origin than the client's
// URL is refused: the report goes to the client's service only.
func (c *Client) CompleteAttempt(ctx context.Context, address string, report Report) (*CompletionState, error) {
	token, err := c.completionToken(address)
	if err != nil {
		return nil, err
	}
	return fetch[CompletionState](ctx, c, call{method: http.MethodPost, path: completionsPath + token, body: report})
}

// completionToken returns the token in the address of a completion at the client's
// service. Its errors don't repeat the address, which is a credential.
func (c *Client) completionToken(address string) (string, error) {
	parsed, err := url.Parse(address)
	if err != nil {
		return "", errors.New("punctual: the address of the completion is not a URL")
	}
	if origin(parsed) != origin(c.base) {
		return "", fmt.Errorf("punctual: the address of the completion is not one of the service at %s; the client's URL must be the service's public URL", c.base.Redacted())
	}
	token, ok := strings.CutPrefix(parsed.EscapedPath(), c.base.Path+completionsPath)
	if !ok || parsed.User != nil || parsed.RawQuery != "" || parsed.Fragment != "" || !isToken(token) {
		return "", errors.New("punctual: this is not the address of X-Punctual-Complete")
	}
	return token, nil
}

// isToken reports whether text may be the token of a completion: base64url.
func isToken(text string) bool {
	for _, c := range []byte(text) {
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-' && c != '_' {
			return false
		}
	}
	return text != ""
}

// origin returns the scheme, host and port of a URL.
func origin(u *url.URL) string {
	port := u.Port()
	switch {
	case port != "":
	case u.Scheme == "https":
		port = "443"
	case u.Scheme == "http":
		port = "80"
	}
	return u.Scheme + "://" + net.JoinHostPort(strings.ToLower(u.Hostname()), port)
}

// Ping checks that the service answers.
func (c *Client) Ping(ctx context.Context) error {
	_, err := c.do(ctx, call{method: http.MethodGet, path: "/api/ping"})
	return err
}

// Echo returns a JSON value as the service read it.
func (c *Client) Echo(ctx context.Context, value any) (json.RawMessage, error) {
	got, err := c.do(ctx, call{method: http.MethodPost, path: "/api/echo", body: value})
	if err != nil {
		return nil, err
	}
	return got.Body, nil
}
