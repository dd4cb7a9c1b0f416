package importer

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"sort"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/punctual-dev/punctual/internal/crontab"
	"github.com/punctual-dev/punctual/internal/rawjson"
)

// schedulerJob is a job of Cloud Scheduler, as its command line prints it.
type schedulerJob struct {
	Name, Schedule, TimeZone, State, Description string
	AttemptDeadline                              string
	RetryConfig                                  struct{ RetryCount int }
	HTTPTarget                                   *struct {
		URI, HTTPMethod, Body string
		Headers               map[string]string
		OidcToken, OauthToken json.RawMessage
	} `json:"httpTarget"`
}

// Google reads what gcloud scheduler jobs list --format=json prints, what jobs describe
// prints of one job, or what the REST API answers.
func Google(text []byte, _ Options) ([]crontab.Entry, error) {
	var jobs []schedulerJob
	var list struct{ Jobs []schedulerJob }
	var one schedulerJob
	text = withoutBOM(text)
	switch {
	case len(text) > MaxBytes:
		return nil, errLarge
	case json.Unmarshal(text, &jobs) == nil:
	case json.Unmarshal(text, &list) == nil && list.Jobs != nil:
		jobs = list.Jobs
	default:
		if err := readJSON(text, &one); err != nil {
			return nil, err
		}
		jobs = []schedulerJob{one}
	}
	at := &lines{text: text}
	var entries []crontab.Entry
	for _, j := range jobs {
		line, name := at.of(j.Name), path.Base(j.Name)
		f, err := j.fields()
		if err != nil {
			entries = append(entries, refused(line, name, err))
			continue
		}
		entries = append(entries, crontab.Entry{Line: line, Text: name, Schedule: rawjson.Object(f), Zone: j.zone(), Method: j.method(),
			URL: j.HTTPTarget.URI})
	}
	return entries, nil
}

func (j *schedulerJob) zone() string {
	if j.TimeZone == "" {
		return "UTC"
	}
	return j.TimeZone
}

func (j *schedulerJob) method() string {
	if j.HTTPTarget.HTTPMethod == "" {
		return "POST"
	}
	return strings.ToUpper(j.HTTPTarget.HTTPMethod)
}

// key returns the key of the schedule: a name is unique within its project and location.
func (j *schedulerJob) key() string {
	if p := strings.Split(j.Name, "/"); len(p) == 6 && p[0] == "projects" && p[2] == "locations" {
		return "google:" + p[1] + "/" + p[3] + "/" + p[5]
	}
	return "google:" + path.Base(j.Name)
}

func (j *schedulerJob) fields() (f fields, err error) {
	switch {
	case j.HTTPTarget == nil:
		return nil, errors.New("has no HTTP target")
	case j.State != "" && j.State != "ENABLED":
		return nil, errors.New("is " + strings.ToLower(j.State))
	case j.HTTPTarget.OidcToken != nil, j.HTTPTarget.OauthToken != nil:
		return nil, errors.New("sends a token of a Google service account, which only Google issues; change how the target authenticates")
	}
	expr, err := fiveFields(j.Schedule)
	if err == nil {
		err = unionOfDays(expr)
	}
	if err != nil {
		return nil, err
	}
	f.text("key", j.key())
	f.text("description", j.Description)
	f.text("cron", expr)
	f.zone(j.zone())
	f.text("method", j.method())
	f.text("url", j.HTTPTarget.URI)
	if err := j.request(&f); err != nil {
		return nil, err
	}
	f.raw("retries", strconv.Itoa(j.RetryConfig.RetryCount))
	if d, err := time.ParseDuration(j.AttemptDeadline); err == nil && d > 0 {
		if d > 15*time.Minute {
			return nil, fmt.Errorf("has an attempt deadline of %s; the longest timeout is 15 minutes", d)
		}
		f.raw("timeout", strconv.FormatFloat(max(d.Seconds(), 1), 'f', -1, 64))
	}
	return f, nil
}

// request adds the headers and the body.
func (j *schedulerJob) request(f *fields) error {
	var headers fields
	json, names := false, make([]string, 0, len(j.HTTPTarget.Headers))
	for name := range j.HTTPTarget.Headers {
		names = append(names, name)
	}
	sort.Strings(names)
	contentType := "application/octet-stream" // which is what Google sends
	for _, name := range names {
		switch value := j.HTTPTarget.Headers[name]; {
		case strings.EqualFold(name, "User-Agent"):
		case strings.EqualFold(name, "Content-Type"):
			contentType = value
		default:
			headers.text(name, value)
		}
	}
	body, err := base64.StdEncoding.DecodeString(j.HTTPTarget.Body)
	if err != nil || !utf8.Valid(body) {
		return errors.New("has a body that is no text")
	}
	media, _, _ := strings.Cut(contentType, ";")
	json = strings.EqualFold(strings.TrimSpace(media), "application/json")
	if len(body) > 0 {
		headers.text("content-type", contentType)
	}
	if len(headers) > 0 {
		f.raw("headers", string(rawjson.Object(headers)))
	}
	if len(body) == 0 {
		return nil
	}
	if v, err := rawjson.Read(body); err == nil && json {
		f.raw("body", string(v))
	} else if json {
		return errors.New("has a body that is not the JSON that its content type says")
	} else {
		f.text("body", string(body))
	}
	f.raw("metadata", "false")
	return nil
}
