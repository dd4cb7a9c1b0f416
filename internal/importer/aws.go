package importer

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/punctual-dev/punctual/internal/crontab"
	"github.com/punctual-dev/punctual/internal/rawjson"
)

// awsSchedule is a schedule of EventBridge Scheduler, as aws scheduler get-schedule prints
// it.
type awsSchedule struct {
	Name, GroupName, State, Description            string
	ScheduleExpression, ScheduleExpressionTimezone string
	StartDate, EndDate, CreationDate               any
	FlexibleTimeWindow                             struct {
		Mode                   string
		MaximumWindowInMinutes int
	}
	Target struct {
		Arn, Input  string
		RetryPolicy *struct {
			MaximumRetryAttempts     *int
			MaximumEventAgeInSeconds int
		}
	}
}

// key returns the key of the schedule: a name is unique within its group.
func (s *awsSchedule) key() string {
	if s.GroupName == "" || s.GroupName == "default" {
		return "aws:" + s.Name
	}
	return "aws:" + s.GroupName + "/" + s.Name
}

// AWS reads what aws scheduler get-schedule prints: one object, or a list of them.
func AWS(text []byte, o Options) ([]crontab.Entry, error) {
	var all []awsSchedule
	var list struct {
		Schedules []awsSchedule
		Rules     []json.RawMessage
	}
	var one awsSchedule
	text = withoutBOM(text)
	switch {
	case len(text) > MaxBytes:
		return nil, errLarge
	case json.Unmarshal(text, &all) == nil:
	case json.Unmarshal(text, &list) == nil && list.Schedules != nil:
		all = list.Schedules
	case list.Rules != nil:
		return nil, errors.New("the file lists rules of EventBridge, without their targets; " +
			"give what aws scheduler get-schedule prints of schedules of EventBridge Scheduler")
	default:
		if err := readJSON(text, &one); err != nil {
			return nil, err
		}
		all = []awsSchedule{one}
	}
	at := &lines{text: text}
	var entries []crontab.Entry
	for _, s := range all {
		line := at.of(`"` + s.Name + `"`)
		f, url, err := s.fields(o)
		if err != nil {
			entries = append(entries, refused(line, s.Name, err))
			continue
		}
		entries = append(entries, crontab.Entry{Line: line, Text: s.Name, Schedule: rawjson.Object(f), Zone: s.zone(), Method: "POST",
			URL: url})
	}
	return entries, nil
}

func (s *awsSchedule) zone() string {
	if s.ScheduleExpressionTimezone == "" {
		return "UTC"
	}
	return s.ScheduleExpressionTimezone
}

func (s *awsSchedule) fields(o Options) (f fields, url string, err error) {
	url = o.Targets[s.Target.Arn]
	switch {
	case s.State != "" && s.State != "ENABLED":
		return nil, "", errors.New("is " + strings.ToLower(s.State))
	case s.ScheduleExpression == "":
		return nil, "", errors.New("has no ScheduleExpression; use get-schedule, as list-schedules leaves it out")
	case url == "":
		return nil, "", fmt.Errorf("has the target %s; --target %s=URL names the URL that does its work", s.Target.Arn, s.Target.Arn)
	}
	f.text("key", s.key())
	f.text("description", s.Description)
	distance, err := s.timing(&f, o.Now)
	if err != nil {
		return nil, "", err
	}
	end, ok, err := awsTime("EndDate", s.EndDate)
	if err != nil {
		return nil, "", err
	}
	if ok {
		f.text("ends_at", end.UTC().Format(time.RFC3339))
	}
	if w := s.FlexibleTimeWindow; w.Mode == "FLEXIBLE" {
		f.jitter(float64(w.MaximumWindowInMinutes)*60, distance)
	}
	f.text("method", "POST")
	f.text("url", url)
	if err := s.body(&f); err != nil {
		return nil, "", err
	}
	s.retries(&f)
	return f, url, nil
}

// body adds the input of the target: JSON, or text as queues take it.
func (s *awsSchedule) body(f *fields) error {
	input := s.Target.Input
	v, err := rawjson.Read([]byte(input))
	switch {
	case input == "":
		return nil
	case strings.Contains(input, "<aws.scheduler."):
		return errors.New("has <aws.scheduler.…> in its input, which only AWS replaces; leave it out: " +
			"the header X-Punctual-Scheduled-At has the due time")
	case err == nil:
		f.raw("body", string(v))
	default:
		f.raw("headers", `{"content-type":"text/plain; charset=utf-8"}`)
		f.text("body", input)
	}
	f.raw("metadata", "false")
	return nil
}

// maxRetries is the most that a job may have. AWS permits 185.
const maxRetries = 20

// retries adds how often, and for how long, a failure is tried again.
func (s *awsSchedule) retries(f *fields) {
	p := s.Target.RetryPolicy
	if p == nil {
		return
	}
	if p.MaximumRetryAttempts != nil {
		f.raw("retries", strconv.Itoa(min(*p.MaximumRetryAttempts, maxRetries)))
	}
	if p.MaximumEventAgeInSeconds > 0 {
		f.raw("expires_in", strconv.Itoa(p.MaximumEventAgeInSeconds))
	}
}

var (
	awsCron = regexp.MustCompile(`^cron\((.*)\)$`)
	awsRate = regexp.MustCompile(`^rate\(\s*([0-9]+)\s+(minute|hour|day)s?\s*\)$`)
)

// timing adds when the schedule runs, and returns the smallest distance of its next runs.
func (s *awsSchedule) timing(f *fields, now time.Time) (time.Duration, error) {
	start, started, err := awsTime("StartDate", s.StartDate)
	if err != nil {
		return 0, err
	}
	if m := awsRate.FindStringSubmatch(s.ScheduleExpression); m != nil {
		n, err := strconv.ParseInt(m[1], 10, 64)
		unit := map[string]time.Duration{"minute": time.Minute, "hour": time.Hour, "day": 24 * time.Hour}[m[2]]
		if err != nil || n < 1 || n > 5_000_000 {
			return 0, fmt.Errorf("has the rate %s", s.ScheduleExpression)
		}
		if !started {
			if start, started, err = awsTime("CreationDate", s.CreationDate); !started {
				return 0, cmp.Or(err, errors.New("has a rate, but no StartDate or CreationDate from which it counts"))
			}
		}
		every := time.Duration(n) * unit
		if past := now.Sub(start); past > 0 {
			start = start.Add((past/every + 1) * every) // the next of its times
		}
		f.raw("repeat_every", fmt.Sprintf(`[%d,"%s"]`, n, m[2]))
		f.text("scheduled_at", start.UTC().Format(time.RFC3339Nano))
		return every, nil
	}
	m := awsCron.FindStringSubmatch(s.ScheduleExpression)
	if m == nil {
		return 0, fmt.Errorf("has the time %s, which does not repeat, or is no cron or rate", s.ScheduleExpression)
	}
	expr, err := cronOfAWS(m[1])
	if err != nil {
		return 0, err
	}
	f.text("cron", expr)
	f.zone(s.zone())
	if started && start.After(now) {
		f.text("scheduled_at", start.UTC().Format(time.RFC3339Nano))
	}
	return distanceOf(expr, s.zone(), now)
}

// cronOfAWS returns the five fields of an expression with six, whose days of the week are
// 1 (Sunday) to 7.
func cronOfAWS(text string) (string, error) {
	words := strings.Fields(text)
	if len(words) != 6 {
		return "", fmt.Errorf("has %d fields in cron(%s) in place of six", len(words), text)
	}
	if words[5] != "*" {
		return "", fmt.Errorf("is restricted to the years %s; use ends_at", words[5])
	}
	if words[2] != "?" && words[4] != "?" && words[2] != "*" && words[4] != "*" {
		return "", errors.New("restricts the day of the month and the day of the week")
	}
	for _, i := range []int{2, 4} {
		if words[i] == "?" {
			words[i] = "*"
		}
	}
	weekday, err := weekdayOfAWS(words[4])
	if err != nil {
		return "", err
	}
	words[4] = weekday
	return strings.Join(words[:5], " "), nil
}

var awsDay = regexp.MustCompile(`^([1-7])?(.*)$`)

// weekdayOfAWS counts days of the week from 0 in place of 1.
func weekdayOfAWS(list string) (string, error) {
	parts := strings.Split(list, ",")
	for i, part := range parts {
		begin, end, ranged := strings.Cut(part, "-")
		begin = dayOfAWS(begin)
		if ranged {
			begin += "-" + dayOfAWS(end)
		}
		if strings.Contains(begin, "/") {
			return "", fmt.Errorf("has a step in the day of the week %s; write the days out", part)
		}
		parts[i] = begin
	}
	if list == "L" {
		return "6", nil // every Saturday, the last day of the week
	}
	return strings.Join(parts, ","), nil
}

func dayOfAWS(text string) string {
	m := awsDay.FindStringSubmatch(text)
	if m[1] == "" {
		return text
	}
	return strconv.Itoa(int(m[1][0]-'1')) + m[2]
}

// awsTime reads a time if there is one: text, or seconds since 1970.
func awsTime(name string, v any) (at time.Time, given bool, err error) {
	switch v := v.(type) {
	case nil:
		return time.Time{}, false, nil
	case string:
		if at, err = time.Parse(time.RFC3339Nano, v); err == nil {
			return at, true, nil
		}
	case float64:
		return time.UnixMicro(int64(v * 1e6)), true, nil
	}
	return time.Time{}, false, fmt.Errorf("has the %s %v, which can't be read", name, v)
}
