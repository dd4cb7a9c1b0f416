package job

import (
	"strconv"
	"strings"
	"time"

	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/schedule"
)

// Defaults and limits of a job's options.
const (
	DefaultRetries = 3
	MaxRetries     = 20
	DefaultTimeout = 30 * time.Second
	MinTimeout     = time.Second
	MaxTimeout     = 900 * time.Second
	// MaxGoogleTimeout is the greatest timeout of jobs that the Google-compatible APIs
	// create.
	MaxGoogleTimeout = 30 * time.Minute
	MaxState         = 64 << 10 // bytes of a schedule's $state
)

// Spec is a job's args, parsed.
type Spec struct {
	Method      string // lower case
	URL         string
	Group       string        // the name of a group of targets in place of URL; "" for none
	Query       rawjson.Value // nil if absent, as are all values here
	Headers     rawjson.Value
	Body        rawjson.Value
	BodyBase64  rawjson.Value // excludes Body
	CallbackURL string
	CallbackOn  CallbackOn
	WebhookURL  string
	Retries     int // attempts after the first
	Timeout     time.Duration
	Success     Statuses        // which responses are a success
	NoRetry     Failures        // which failures are not retried
	Backoff     []time.Duration // waits before retries, of which the last repeats; nil for the default ones
	RetryDelay  string          // an expression for these waits; "" for none
	Dialect     *Dialect        // nil for the service's own
	Completion  Await           // of work that takes longer than a request
	Metadata    bool
	Redact      Redact
	RepeatEvery rawjson.Value
	Cron        string
	Timezone    string
	OnConflict  string // "" if absent
	MaxWait     time.Duration
	Throttle    time.Duration
	Limits      []string // keys of limits for receivers
	Auth        Auth     // how requests prove who sends them
	// ExpiresIn is how long after the due time an attempt may start; nil for any
	// time.
	ExpiresIn *time.Duration
	// The options of schedules. EndsAt is zero, MaxRuns and DisableAfter are 0 for no
	// end.
	CatchUp      CatchUp
	EndsAt       time.Time
	MaxRuns      int64
	DisableAfter int64 // failed runs in a row
	Jitter       time.Duration
	Offset       time.Duration // from the points of the grid to the due times
	Except       schedule.Dates
}

var defaultSpec = Spec{Method: "get", Retries: DefaultRetries, Timeout: DefaultTimeout, Success: DefaultSuccess, Metadata: true,
	CallbackOn: CallbackOnFinal, CatchUp: CatchUpOne}

// fields is the table of the fields of a create request. Requests are read, and
// forms show inputs, in this order.
var fields = []Field{
	{
		Name: "method", In: Anywhere, Kind: TextValue, read: readMethod,
		set:  func(s *Spec, v rawjson.Value) { s.Method = strings.ToLower(rawjson.Text(v)) },
		Form: Form{Section: RequestSection, Label: "Method", Choices: methods, Default: "post"},
	},
	{
		Name: "url", In: Anywhere, Kind: TextValue, Excludes: groupField, Strict: true, read: readURL,
		set:  func(s *Spec, v rawjson.Value) { s.URL = rawjson.Text(v) },
		Form: Form{Section: RequestSection, Label: "URL", Placeholder: "https://example.com/hook", Mono: true},
	},
	{
		Name: groupField, In: ForCreate | EditSchedule, Kind: TextValue, Excludes: "url", Strict: true, read: readGroup, check: checkGroup,
		set:  func(s *Spec, v rawjson.Value) { s.Group = rawjson.Text(v) },
		Form: Form{Section: MoreSection, Label: "Group", Hint: "In place of a URL: a job for each target of the group.", Mono: true},
		Flag: Flag{Placeholder: "NAME", Help: "A group of targets in place of a URL: it becomes a job for each target."},
	},
	{
		Name: "query", In: Anywhere, Kind: ObjectValue, Types: []string{"object", "string"}, read: readQuery,
		set: func(s *Spec, v rawjson.Value) { s.Query = v },
		Form: Form{Section: RequestSection, Label: "Query", Hint: "Added to the URL: a query string or a JSON object.",
			Placeholder: "page=2&tag=new", Mono: true},
	},
	{
		Name: "headers", In: Anywhere, Kind: ObjectValue, read: readHeaders, check: checkHeaders,
		set: func(s *Spec, v rawjson.Value) { s.Headers = v },
		Form: Form{Section: RequestSection, Label: "Headers", Hint: "One Name: value per line.", Placeholder: "Authorization: Bearer …",
			Mono: true},
	},
	{
		Name: "body", In: Anywhere, Kind: AnyValue, Excludes: base64Field, check: checkBody,
		set:  func(s *Spec, v rawjson.Value) { s.Body = v },
		Form: Form{Section: RequestSection, Label: "Body", Placeholder: `{"hello": "world"}`, Mono: true},
	},
	{
		Name: base64Field, In: Anywhere, Kind: TextValue, Excludes: "body", read: readBase64,
		set: func(s *Spec, v rawjson.Value) { s.BodyBase64 = v },
		Form: Form{Section: MoreSection, Label: "Body as base64", Hint: "Bytes to send instead of a body. They are sent as they are.",
			Placeholder: "AAECAw==", Mono: true},
		Flag: Flag{Placeholder: "BASE64", Help: "The body as base64: these bytes are sent as they are. --data @FILE does so for a file that is not text."},
	},
	{
		Name: "schedule_in", In: Anywhere | EditRun, Kind: DurationValue, Excludes: "scheduled_at", read: readScheduleIn,
		Form: Form{Section: TimingSection},
	},
	{
		Name: "scheduled_at", In: Anywhere | EditRun, Kind: InstantValue, Excludes: "schedule_in", read: readScheduledAt,
		Form: Form{Section: TimingSection},
	},
	{
		Name: afterField, In: ForJob, Kind: ObjectValue, Of: WholeValue, read: readAfter, check: checkAfter,
		Form: Form{Section: MoreSection, Label: "After",
			Hint:        "Jobs to wait for: ids or key:KEY. The delay counts from the end of the last one.",
			Placeholder: `{"jobs": [17, "key:import"], "on": "completed"}`, Mono: true},
		Flag: Flag{Placeholder: "JSON", Help: "Jobs that the job waits for, as in '{\"jobs\": [17, \"key:import\"], \"on\": \"completed\"}'; on is completed or final."},
	},
	{
		Name: "repeat_every", In: OnlySchedule, Kind: DurationValue, Excludes: "cron", read: readRepeatEvery,
		set:  func(s *Spec, v rawjson.Value) { s.RepeatEvery = v },
		Form: Form{Section: TimingSection},
	},
	{
		Name: "timezone", In: OnlySchedule, Kind: TextValue, Needs: "cron", read: readTimezone,
		set:  func(s *Spec, v rawjson.Value) { s.Timezone = rawjson.Text(v) },
		Form: Form{Section: TimingSection},
	},
	{
		Name: "cron", In: OnlySchedule, Kind: TextValue, Excludes: "repeat_every", read: readCron,
		set:  func(s *Spec, v rawjson.Value) { s.Cron = rawjson.Text(v) },
		Form: Form{Section: TimingSection},
	},
	{
		Name: "name", In: Anywhere | EditRun, Kind: TextValue, Column: true,
		read: text(0, 255, func(d *Draft, name string) { d.Name = &name }),
		Form: Form{Section: MoreSection, Label: "Name", Placeholder: "Nightly report"},
		Flag: Flag{Placeholder: "NAME", Help: "A name for the job."},
	},
	{
		Name: "description", In: Anywhere | EditRun, Kind: LinesValue, Column: true,
		read: text(0, 2000, func(d *Draft, description string) { d.Description = &description }),
		Form: Form{Section: MoreSection, Label: "Description"},
		Flag: Flag{Placeholder: "TEXT", Help: "What the job is for."},
	},
	{
		Name: "tags", In: Anywhere, Kind: ListValue, Of: TextValue, read: readTags,
		Form: Form{Section: MoreSection, Label: "Tags", Hint: "Up to 10, separated by commas. Lists can be filtered by them.",
			Placeholder: "billing, tenant:42"},
		Flag: Flag{Placeholder: "TAG,…", Help: "Up to 10 tags, by which lists can be filtered."},
	},
	{
		Name: keyField, In: ForCreate, Kind: TextValue, Column: true, read: readKey,
		Form: Form{Section: MoreSection, Label: "Idempotency key", Hint: "While a job holds this key, no other job with it is created.",
			Mono: true},
		Flag: Flag{Placeholder: "KEY", Help: "While an unfinished job holds this key, no other job is created with it."},
	},
	{
		Name: requestField, In: ForCreate, Kind: TextValue, Column: true,
		read: text(1, 255, func(d *Draft, id string) { d.RequestID = id }),
		Flag: Flag{Placeholder: "ID", Help: "Identifies this request for 7 days: repeated, it returns the same job."},
	},
	{
		Name: conflictField, In: ForCreate, Kind: TextValue, Needs: keyField, read: readOnConflict, check: checkOnConflict,
		set: func(s *Spec, v rawjson.Value) { s.OnConflict = rawjson.Text(v) },
		Form: Form{Section: MoreSection, Label: "On conflict", Hint: "What to do when another job holds the key.", Choices: conflictChoices,
			Default: OnConflictReturn},
		Flag: Flag{Placeholder: "ACTION", Help: "What to do if another job holds the key: return it, refuse, replace it or debounce."},
	},
	{
		Name: "max_wait", In: ForJob, Kind: DurationValue, Needs: keyField, read: readWait, check: checkMaxWait,
		set: func(s *Spec, v rawjson.Value) { s.MaxWait = DurationOf(v) },
		Form: Form{Section: MoreSection, Label: "Maximum wait", Hint: "How long debounce may delay the job, from the first call.",
			Placeholder: "10 minutes"},
		Flag: Flag{Placeholder: "DURATION", Help: "How far debounce may put the job off, from the first call."},
	},
	{
		Name: "throttle", In: ForJob, Kind: DurationValue, Needs: keyField, read: readWait, check: checkThrottle,
		set: func(s *Spec, v rawjson.Value) { s.Throttle = DurationOf(v) },
		Form: Form{Section: MoreSection, Label: "Keep the key for", Hint: "From creation, even if the job has finished.",
			Placeholder: "1 hour"},
		Flag: Flag{Placeholder: "DURATION", Help: "How long the job holds its key after creation, even if it has ended."},
	},
	{
		Name: "retries", In: Anywhere, Kind: WholeValue, read: readRetries,
		set:  func(s *Spec, v rawjson.Value) { s.Retries, _ = strconv.Atoi(string(v)) },
		Form: Form{Section: MoreSection, Label: "Retries", Hint: "How often to retry a failed attempt, 0 to 20.", Placeholder: "3"},
		Flag: Flag{Placeholder: "N", Help: "How many times to retry a failed attempt."},
	},
	{
		Name: "timeout", In: Anywhere, Kind: NumberValue, read: readTimeout,
		set: func(s *Spec, v rawjson.Value) {
			seconds, _ := strconv.ParseFloat(string(v), 64)
			s.Timeout = time.Duration(seconds * float64(time.Second))
		},
		Form: Form{Section: MoreSection, Label: "Timeout", Hint: "Seconds per attempt, 1 to 900.", Placeholder: "30"},
		Flag: Flag{Placeholder: "SECONDS", Help: "How long one attempt may take."},
	},
	{
		Name: "success", In: Anywhere, Kind: ListValue, Of: WholeValue, read: readSuccess,
		set:  func(s *Spec, v rawjson.Value) { s.Success = statusesOf(v) },
		Form: Form{Section: MoreSection, Label: "Success", Hint: "Statuses and classes that count as success.", Placeholder: "2xx, 404"},
		Flag: Flag{Placeholder: "STATUSES", Help: "Statuses and classes that count as success, as in 2xx,404."},
	},
	{
		Name: "no_retry", In: Anywhere, Kind: ListValue, Of: WholeValue, read: readNoRetry,
		set: func(s *Spec, v rawjson.Value) { s.NoRetry = failuresOf(v) },
		Form: Form{Section: MoreSection, Label: "No retry after", Hint: "Statuses, classes and error kinds after which there is no retry.",
			Placeholder: "4xx, 501, tls"},
		Flag: Flag{Placeholder: "LIST", Help: "Statuses, classes and error kinds after which there is no retry, as in 4xx,tls."},
	},
	{
		Name: "backoff", In: Anywhere, Kind: ListValue, Of: DurationValue, Excludes: "retry_delay", read: readBackoff,
		set: func(s *Spec, v rawjson.Value) { s.Backoff = waitsOf(v) },
		Form: Form{Section: MoreSection, Label: "Retry delays", Hint: "1 to 20; the last one repeats.",
			Placeholder: "10, 1 minute, 6 hours"},
		Flag: Flag{Placeholder: "WAITS", Help: "The waits before retries, as in 10,1 minute; the last one repeats."},
	},
	{
		Name: "retry_delay", In: Anywhere, Kind: TextValue, Excludes: "backoff", read: readRetryDelay,
		set: func(s *Spec, v rawjson.Value) { s.RetryDelay = rawjson.Text(v) },
		Form: Form{Section: MoreSection, Label: "Retry delay", Hint: "An expression in milliseconds, instead of retry delays.",
			Placeholder: "pow(2, retried) * 1000", Mono: true},
		Flag: Flag{Placeholder: "EXPRESSION", Help: "The waits before retries in milliseconds, as in \"pow(2, retried) * 1000\"."},
	},
	{
		Name: limitsField, In: Anywhere, Kind: ListValue, Of: TextValue, read: readLimits,
		set:  func(s *Spec, v rawjson.Value) { s.Limits = limitsOf(v) },
		Form: Form{Section: MoreSection, Label: "Limits", Hint: "Keys of up to 3 limits for receivers.", Placeholder: "stripe, tenant-42"},
		Flag: Flag{Placeholder: "KEY,…", Help: "Keys of up to 3 limits for receivers."},
	},
	{
		Name: authField, In: Anywhere, Kind: ObjectValue, Of: AnyValue, read: readAuth, check: checkAuth,
		set: func(s *Spec, v rawjson.Value) { s.Auth = authOf(v) },
		Form: Form{Section: MoreSection, Label: "Identity",
			Hint:        "Prove who is calling: a token, a client certificate or a signature for AWS.",
			Placeholder: `{"oidc": {"audience": "https://api.example.com"}}`, Mono: true},
		Flag: Flag{Placeholder: "JSON", Help: "How requests prove who sends them, as in '{\"oidc\": {}}', '{\"mtls\": \"SECRET\"}' or '{\"aws\": {…}}'."},
	},
	{
		Name: "completion", In: Anywhere, Kind: ObjectValue, Of: DurationValue, read: readCompletion,
		set: func(s *Spec, v rawjson.Value) { s.Completion = awaitOf(v) },
		Form: Form{Section: MoreSection, Label: "Completion", Hint: "Wait for the result of work that takes longer than a request.",
			Placeholder: `{"within": [1, "hour"]}`, Mono: true},
		Flag: Flag{Placeholder: "JSON", Help: "Wait for a result that the target reports later, as in '{\"within\": [1, \"hour\"]}'."},
	},
	{
		Name: "metadata", In: Anywhere, Kind: BooleanValue, read: readBoolean,
		set: func(s *Spec, v rawjson.Value) { s.Metadata = string(v) == "true" },
		Form: Form{Section: MoreSection, Label: "Add $job, $state and $previous to the body", Hint: "Only to a body that is a JSON object.",
			Default: "true"},
		Flag: Flag{Placeholder: "", Help: "Add $job, $state and $previous to a body that is a JSON object; --metadata=false does not."},
	},
	{
		Name: redactField, In: Anywhere, Kind: ListValue, Of: TextValue, read: readRedact,
		set: func(s *Spec, v rawjson.Value) { s.Redact = redactOf(v) },
		Form: Form{Section: MoreSection, Label: "Redact", Hint: "What is sent but never shown: body, response, headers or header:NAME.",
			Placeholder: "body, header:x-api-key"},
		Flag: Flag{Placeholder: "PART,…", Help: "What is sent but never shown: body, response, headers or header:NAME."},
	},
	{
		Name: "callback_url", In: Anywhere, Kind: TextValue, read: readURL,
		set:  func(s *Spec, v rawjson.Value) { s.CallbackURL = rawjson.Text(v) },
		Form: Form{Section: MoreSection, Label: "Callback URL", Hint: "Receives the result, once.", Mono: true},
		Flag: Flag{Placeholder: "URL", Help: "Gets the result, once."},
	},
	{
		Name: "callback_on", In: Anywhere, Kind: TextValue, Needs: "callback_url", read: readCallbackOn,
		set: func(s *Spec, v rawjson.Value) { s.CallbackOn = CallbackOn(rawjson.Text(v)) },
		Form: Form{Section: MoreSection, Label: "Callback on", Hint: "Which ends of the job are reported.", Choices: callbackOns,
			Default: string(CallbackOnFinal)},
		Flag: Flag{Placeholder: "END", Help: "Which ends the callback reports: final (completed or discarded), failure or success."},
	},
	{
		Name: "webhook_url", In: Anywhere, Kind: TextValue, read: readURL,
		set:  func(s *Spec, v rawjson.Value) { s.WebhookURL = rawjson.Text(v) },
		Form: Form{Section: MoreSection, Label: "Webhook URL", Hint: "Receives every event as it happens.", Mono: true},
		Flag: Flag{Placeholder: "URL", Help: "Gets every event as it happens."},
	},
	{
		Name: "expires_in", In: Anywhere, Kind: DurationValue, read: readExpiresIn,
		set: func(s *Spec, v rawjson.Value) {
			expires := DurationOf(v)
			s.ExpiresIn = &expires
		},
		Form: Form{Section: MoreSection, Label: "Expires in", Hint: "The job fails if it can't start within this time after it is due.",
			Placeholder: "10 minutes"},
		Flag: Flag{Placeholder: "DURATION", Help: "How long after the due time an attempt may start, as in 600 or \"10 minutes\"."},
	},
	{
		Name: dialectField, In: Anywhere, Kind: ObjectValue, Of: AnyValue, read: readDialect,
		set: func(s *Spec, v rawjson.Value) { s.Dialect = dialectOf(v) },
	},
	{
		Name: "catch_up", In: OnlySchedule, Kind: TextValue, read: readCatchUp,
		set: func(s *Spec, v rawjson.Value) { s.CatchUp = CatchUp(rawjson.Text(v)) },
		Form: Form{Section: ScheduleSection, Label: "Missed runs", Hint: "Run once for all missed runs, for none of them, or for each.",
			Choices: catchUps},
		Flag: Flag{Placeholder: "HOW", Help: "What to do about missed runs: one, none or all."},
	},
	{
		Name: "ends_at", In: OnlySchedule, Kind: InstantValue, read: readEndsAt,
		set:  func(s *Spec, v rawjson.Value) { s.EndsAt = instantOf(v) },
		Form: Form{Section: ScheduleSection, Label: "Ends at", Hint: "No run is due after this time.", Placeholder: "2027-01-01T00:00:00Z"},
		Flag: Flag{Placeholder: "TIME", Help: "The time after which no run is due."},
	},
	{
		Name: "max_runs", In: OnlySchedule, Kind: WholeValue, read: readMaxRuns,
		set: func(s *Spec, v rawjson.Value) { s.MaxRuns, _ = strconv.ParseInt(string(v), 10, 64) },
		Form: Form{Section: ScheduleSection, Label: "Number of runs",
			Hint: "The schedule ends after this many. Cancelled runs don't count."},
		Flag: Flag{Placeholder: "N", Help: "After how many runs the schedule ends."},
	},
	{
		Name: "disable_after", In: OnlySchedule, Kind: WholeValue, read: readDisableAfter,
		set: func(s *Spec, v rawjson.Value) { s.DisableAfter, _ = strconv.ParseInt(string(v), 10, 64) },
		Form: Form{Section: ScheduleSection, Label: "Disable after failures",
			Hint: "The schedule ends after this many failed runs in a row.", Placeholder: "5"},
		Flag: Flag{Placeholder: "N", Help: "After how many failed runs in a row the schedule ends."},
	},
	{
		Name: "jitter", In: OnlySchedule, Kind: DurationValue, read: readJitter,
		set: func(s *Spec, v rawjson.Value) { s.Jitter = DurationOf(v) },
		Form: Form{Section: ScheduleSection, Label: "Jitter",
			Hint: "Delays all runs by a fixed part of this time, which is shorter than the interval.", Placeholder: "5 minutes"},
		Flag: Flag{Placeholder: "DURATION", Help: "Delay all runs by a fixed part of this time, which differs between schedules."},
	},
	{
		Name: "offset", In: OnlySchedule, Kind: DurationValue, read: readOffset,
		set:  func(s *Spec, v rawjson.Value) { s.Offset = DurationOf(v) },
		Form: Form{Section: ScheduleSection, Label: "Offset", Hint: "Delays all runs by this time.", Placeholder: "10 seconds"},
		Flag: Flag{Placeholder: "DURATION", Help: "Delay all runs by this time."},
	},
	{
		Name: "except", In: OnlySchedule, Kind: ListValue, Of: TextValue, read: readExcept,
		set: func(s *Spec, v rawjson.Value) { s.Except = exceptOf(v) },
		Form: Form{Section: ScheduleSection, Label: "Skip dates", Hint: "Dates and date ranges without runs.",
			Placeholder: "2026-12-25, 2026-12-24/2027-01-02"},
		Flag: Flag{Placeholder: "DATES", Help: "Dates and ranges of dates without runs, as in 2026-12-25,2027-01-01/2027-01-06."},
	},
}
