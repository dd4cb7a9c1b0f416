package client

import (
	"context"
	"iter"
	"net/http"
)

// Limit is a limit for receivers. Rate nil and Parallel nil are unlimited.
type Limit struct {
	Key      string `json:"key"`
	Rate     *Rate  `json:"rate"`
	Parallel *int64 `json:"parallel"`
	// Ordered makes attempts start in the order of their jobs' due times, then of their
	// creation.
	Ordered bool `json:"ordered"`
	Paused  bool `json:"paused"`
}

// Rate permits Calls in any window of length Per.
type Rate struct {
	Calls int64    `json:"calls"`
	Per   Duration `json:"per"`
}

// LimitUse is a limit and what it does at this moment.
type LimitUse struct {
	Limit
	Waiting  int64 `json:"waiting"`
	InFlight int64 `json:"in_flight"`
	NextAt   *Time `json:"next_at"`
	// First is the first job that waits in an ordered limit; nil if there is none.
	First *LimitFirst `json:"first"`
}

// LimitFirst is the first job that waits in an ordered limit, and what it waits for.
type LimitFirst struct {
	JobID      int64    `json:"job_id"`
	WaitingFor []string `json:"waiting_for"`
}

// PutLimit creates or replaces the limit with the key limit.Key.
func (c *Client) PutLimit(ctx context.Context, limit Limit, conditions ...Condition) (*Limit, error) {
	body := struct {
		Rate     *Rate  `json:"rate,omitempty"`
		Parallel *int64 `json:"parallel,omitempty"`
		Ordered  bool   `json:"ordered"`
		Paused   bool   `json:"paused"`
	}{limit.Rate, limit.Parallel, limit.Ordered, limit.Paused}
	return fetch[Limit](ctx, c, call{method: http.MethodPut, path: "/api/limits" + element(limit.Key), body: body,
		header: condition(conditions)})
}

// ListLimits iterates over limits.
func (c *Client) ListLimits(ctx context.Context) iter.Seq2[Limit, error] {
	return list[Limit](ctx, c, "/api/limits", Page{}.values())
}

// GetLimit returns a limit and its use.
func (c *Client) GetLimit(ctx context.Context, key string) (*LimitUse, error) {
	return fetch[LimitUse](ctx, c, call{method: http.MethodGet, path: "/api/limits" + element(key)})
}

// DeleteLimit deletes a limit. It fails with status 409 while unfinished jobs name it.
func (c *Client) DeleteLimit(ctx context.Context, key string) error {
	return c.delete(ctx, "/api/limits"+element(key))
}

// AlertRequest defines an alert.
type AlertRequest struct {
	// On has failed, recovered, late, skipped and ended.
	On []string `json:"on"`
	// After is how many failures in a row are reported; 1 if zero.
	After  int64       `json:"after,omitempty"`
	LateBy Duration    `json:"late_by,omitzero"`
	Match  *AlertMatch `json:"match,omitempty"`
	// To has 1 to 10 receivers.
	To []AlertReceiver `json:"to"`
	// RemindEvery is how often a reminder is sent; none if zero.
	RemindEvery Duration `json:"remind_every,omitzero"`
}

// AlertMatch selects jobs by tags, by schedule or by both.
type AlertMatch struct {
	Tags       []string `json:"tags,omitempty"`
	ScheduleID string   `json:"schedule_id,omitempty"`
}

// AlertReceiver has one of its fields.
type AlertReceiver struct {
	Webhook   string `json:"webhook,omitempty"`
	Slack     string `json:"slack,omitempty"`     // the URL of an incoming webhook
	Teams     string `json:"teams,omitempty"`     // the URL of a Workflows webhook of Microsoft Teams
	PagerDuty string `json:"pagerduty,omitempty"` // an integration key of the Events API v2
	Email     string `json:"email,omitempty"`
}

// Alert is an alert as it is stored.
type Alert struct {
	Name string `json:"name"`
	AlertRequest
	InsertedAt Time `json:"inserted_at"`
	UpdatedAt  Time `json:"updated_at"`
}

// AlertTest is what the receivers of an alert said to a test.
type AlertTest struct {
	Alert   string            `json:"alert"`
	Results []AlertTestResult `json:"results"`
}

// AlertTestResult is what one receiver said.
type AlertTestResult struct {
	To         AlertReceiver `json:"to"`
	Status     *int          `json:"status"`
	Response   *string       `json:"response"`
	Error      *Failure      `json:"error"`
	DurationMS float64       `json:"duration_ms"`
}

// PutAlert creates or replaces an alert.
func (c *Client) PutAlert(ctx context.Context, name string, request AlertRequest, conditions ...Condition) (*Alert, error) {
	return fetch[Alert](ctx, c, call{method: http.MethodPut, path: "/api/alerts" + element(name), body: request,
		header: condition(conditions)})
}

// ListAlerts iterates over alerts.
func (c *Client) ListAlerts(ctx context.Context) iter.Seq2[Alert, error] {
	return list[Alert](ctx, c, "/api/alerts", Page{}.values())
}

// GetAlert returns an alert.
func (c *Client) GetAlert(ctx context.Context, name string) (*Alert, error) {
	return fetch[Alert](ctx, c, call{method: http.MethodGet, path: "/api/alerts" + element(name)})
}

// TestAlert sends a message to the receivers of an alert now.
func (c *Client) TestAlert(ctx context.Context, name string) (*AlertTest, error) {
	return fetch[AlertTest](ctx, c, call{method: http.MethodPost, path: "/api/alerts" + element(name) + "/test", once: true})
}

// DeleteAlert deletes an alert.
func (c *Client) DeleteAlert(ctx context.Context, name string) error {
	return c.delete(ctx, "/api/alerts"+element(name))
}

// NewHeaderSecret has the hosts that a secret may be sent to, and a Value or OAuth2 for
// headers, a Certificate and a PrivateKey in PEM for Auth.MTLS, or an AccessKeyID and a
// SecretAccessKey for Auth.AWS.
type NewHeaderSecret struct {
	Value           string   `json:"value,omitempty"`
	Certificate     string   `json:"certificate,omitempty"`
	PrivateKey      string   `json:"private_key,omitempty"`
	AccessKeyID     string   `json:"access_key_id,omitempty"`
	SecretAccessKey string   `json:"secret_access_key,omitempty"`
	SessionToken    string   `json:"session_token,omitempty"`
	Hosts           []string `json:"hosts"`
	HTTP            bool     `json:"http,omitempty"` // targets of http may receive it, too
	OAuth2          *OAuth2  `json:"oauth2,omitempty"`
}

// OAuth2 gets the secret's value as client credentials.
type OAuth2 struct {
	TokenURL     string `json:"token_url"`
	ClientID     string `json:"client_id"`
	ClientSecret string `json:"client_secret"`
	Scope        string `json:"scope,omitempty"`
}

// HeaderSecret is a secret without its value, which no call shows.
type HeaderSecret struct {
	Name      string   `json:"name"`
	Hosts     []string `json:"hosts"`
	Kind      string   `json:"kind"` // certificate or access_key; "" for secrets that headers name, and if the service can't decrypt it
	HTTP      bool     `json:"http,omitempty"`
	CreatedAt Time     `json:"created_at"`
	UpdatedAt Time     `json:"updated_at"`
}

// PutHeaderSecret creates or replaces a secret for headers.
func (c *Client) PutHeaderSecret(ctx context.Context, name string, secret NewHeaderSecret, conditions ...Condition) (*HeaderSecret, error) {
	return fetch[HeaderSecret](ctx, c, call{method: http.MethodPut, path: "/api/secrets" + element(name), body: secret,
		header: condition(conditions)})
}

// ListHeaderSecrets iterates over secrets for headers.
func (c *Client) ListHeaderSecrets(ctx context.Context) iter.Seq2[HeaderSecret, error] {
	return list[HeaderSecret](ctx, c, "/api/secrets", Page{}.values())
}

// GetHeaderSecret returns a secret without its value.
func (c *Client) GetHeaderSecret(ctx context.Context, name string) (*HeaderSecret, error) {
	return fetch[HeaderSecret](ctx, c, call{method: http.MethodGet, path: "/api/secrets" + element(name)})
}

// DeleteHeaderSecret deletes a secret. It fails with status 409 while jobs use it.
func (c *Client) DeleteHeaderSecret(ctx context.Context, name string) error {
	return c.delete(ctx, "/api/secrets"+element(name))
}
