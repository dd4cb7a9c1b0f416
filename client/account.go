package client

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// Account is the account that the key belongs to. What is nil is unlimited, or not
// known.
type Account struct {
	ID               string        `json:"id"`
	Email            string        `json:"email"`
	Limits           AccountLimits `json:"limits"`
	Usage            AccountUsage  `json:"usage"`
	RetentionSeconds *int64        `json:"retention_seconds"`
	// SigningPublicKeys verify the signatures v1a of the account's requests, newest
	// first; see NewVerifier.
	SigningPublicKeys []string `json:"signing_public_keys"`
}

// AccountLimits are the limits of an account.
type AccountLimits struct {
	CallsPerSecond *float64 `json:"calls_per_second"`
	PendingJobs    *int64   `json:"pending_jobs"`
	Schedules      *int64   `json:"schedules"`
	StoredBytes    *int64   `json:"stored_bytes"`
	Keys           int64    `json:"keys"`
	BodyBytes      int64    `json:"body_bytes"`
}

// AccountUsage is what an account uses of its limits.
type AccountUsage struct {
	PendingJobs int64  `json:"pending_jobs"`
	Schedules   int64  `json:"schedules"`
	StoredBytes *int64 `json:"stored_bytes"`
	SampledAt   *Time  `json:"sampled_at"`
}

// APIKey is a key of an account.
type APIKey struct {
	ID     string `json:"id"`
	Name   string `json:"name"`
	Prefix string `json:"prefix"`
	// Scope is read, jobs or admin.
	Scope      string   `json:"scope"`
	CIDRs      []string `json:"cidrs"`
	CreatedAt  Time     `json:"created_at"`
	ExpiresAt  *Time    `json:"expires_at"`
	LastUsedAt *Time    `json:"last_used_at"`
	RevokedAt  *Time    `json:"revoked_at"`
	// CreatedBy is the email of the person, or the prefix of the key, that made the key;
	// nil for the command line, and if it isn't known.
	CreatedBy *string `json:"created_by"`
	// Key is the key itself. Only CreateKey returns it.
	Key string `json:"key"`
}

// NewKey describes a key to create.
type NewKey struct {
	Name      string    `json:"name,omitempty"`
	Scope     string    `json:"scope,omitempty"`
	ExpiresAt time.Time `json:"expires_at,omitzero"`
	CIDRs     []string  `json:"cidrs,omitempty"`
}

// SigningSecret signs what the service sends. Secret is nil if the key may not see it.
type SigningSecret struct {
	Secret    *string `json:"secret"`
	CreatedAt Time    `json:"created_at"`
	ExpiresAt *Time   `json:"expires_at"`
}

// AuditEntry is something that was done with the account.
type AuditEntry struct {
	ID         string  `json:"id"`
	InsertedAt Time    `json:"inserted_at"`
	Event      string  `json:"event"`
	Actor      Actor   `json:"actor"`
	Address    *string `json:"address"`
	Detail     *string `json:"detail"`
	Count      int64   `json:"count"`
	LastAt     Time    `json:"last_at"`
}

// Actor is who did it.
type Actor struct {
	Kind string  `json:"kind"`
	Name *string `json:"name"`
}

// Stats has the runs of each of the latest minutes and of all of them.
type Stats struct {
	Minutes []MinuteStats `json:"data"`
	Total   RunStats      `json:"total"`
}

// MinuteStats has the runs of one minute.
type MinuteStats struct {
	Minute Time `json:"minute"`
	RunStats
}

// RunStats counts attempts and says how late and long they were.
type RunStats struct {
	Runs       int64       `json:"runs"`
	Succeeded  int64       `json:"succeeded"`
	Failed     int64       `json:"failed"`
	LatenessMS Percentiles `json:"lateness_ms"`
	DurationMS Percentiles `json:"duration_ms"`
}

// Percentiles are nil where nothing was measured.
type Percentiles struct {
	P50 *float64 `json:"p50"`
	P99 *float64 `json:"p99"`
}

// Punctuality is how late the jobs of all accounts began, on all nodes.
type Punctuality struct {
	At   Time     `json:"at"`
	Hour Lateness `json:"hour"`
	Day  Lateness `json:"day"`
	Week Lateness `json:"week"`
}

// Lateness is how long after their due times the attempts since a time began.
type Lateness struct {
	Since      Time            `json:"since"`
	Attempts   int64           `json:"attempts"`
	LatenessMS LatenessFigures `json:"lateness_ms"`
}

// LatenessFigures are milliseconds, nil where nothing was measured.
type LatenessFigures struct {
	P50   *float64 `json:"p50"`
	P99   *float64 `json:"p99"`
	P999  *float64 `json:"p999"`
	Worst *float64 `json:"worst"`
}

// GetAccount returns the account with its limits and their use.
func (c *Client) GetAccount(ctx context.Context) (*Account, error) {
	return fetch[Account](ctx, c, call{method: http.MethodGet, path: "/api/account"})
}

// ListKeys iterates over the account's keys.
func (c *Client) ListKeys(ctx context.Context) iter.Seq2[APIKey, error] {
	return list[APIKey](ctx, c, "/api/account/keys", nil)
}

// CreateKey creates a key. Only the response shows it.
func (c *Client) CreateKey(ctx context.Context, key NewKey) (*APIKey, error) {
	return fetch[APIKey](ctx, c, call{method: http.MethodPost, path: "/api/account/keys", body: key, once: true})
}

// RevokeKey makes a key useless.
func (c *Client) RevokeKey(ctx context.Context, id string) error {
	return c.delete(ctx, "/api/account/keys"+element(id))
}

// ListSigningSecrets iterates over the signing secrets that count, the newest first.
func (c *Client) ListSigningSecrets(ctx context.Context) iter.Seq2[SigningSecret, error] {
	return list[SigningSecret](ctx, c, "/api/account/signing-secrets", nil)
}

// RotateSigningSecret creates a signing secret. The one before signs too for 24 hours.
func (c *Client) RotateSigningSecret(ctx context.Context) ([]SigningSecret, error) {
	secrets, err := fetch[[]SigningSecret](ctx, c, call{method: http.MethodPost, path: "/api/account/signing-secrets/rotate", once: true})
	if err != nil {
		return nil, err
	}
	return *secrets, nil
}

// ListAudit iterates over what was done with the account, the latest first; of one
// event if it is not empty.
func (c *Client) ListAudit(ctx context.Context, event string) iter.Seq2[AuditEntry, error] {
	query := Page{}.values()
	put(query, "event", event)
	return list[AuditEntry](ctx, c, "/api/account/audit", query)
}

// GetPunctuality returns how late the jobs of all accounts began in the last hour,
// day and week.
func (c *Client) GetPunctuality(ctx context.Context) (*Punctuality, error) {
	return fetch[Punctuality](ctx, c, call{method: http.MethodGet, path: "/api/punctuality"})
}

// GetStats returns the statistics of the latest minutes, the service's default if
// zero.
func (c *Client) GetStats(ctx context.Context, minutes int) (*Stats, error) {
	query := url.Values{}
	if minutes != 0 {
		query.Set("minutes", strconv.Itoa(minutes))
	}
	got, err := c.do(ctx, call{method: http.MethodGet, path: "/api/stats", query: query})
	if err != nil {
		return nil, err
	}
	value, err := decode[Stats](got)
	return &value, err
}

// Broadcast sends a message to the service's welcome page.
func (c *Client) Broadcast(ctx context.Context, message map[string]any) error {
	_, err := c.do(ctx, call{method: http.MethodPost, path: "/api/broadcast", body: message, once: true})
	return err
}
