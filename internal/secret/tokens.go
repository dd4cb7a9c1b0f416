package secret

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"regexp"
	"strconv"
	"sync"
	"time"

	"github.com/punctual-dev/punctual/internal/execute"
	"github.com/punctual-dev/punctual/internal/fair"
	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
)

const (
	// fetchTimeout is how long a token may take to fetch.
	fetchTimeout = 10 * time.Second
	// beforeExpiry is how long before its end a token is no longer used.
	beforeExpiry = time.Minute
	// defaultLife is how long a token is used whose end is not known, maxLife how
	// long any token is used.
	defaultLife = 5 * time.Minute
	maxLife     = 24 * time.Hour
	// maxToken is the greatest length of a token, in bytes.
	maxToken = 16 << 10
	// maxTokenBytes bounds the tokens in memory, of which a short one counts as
	// leastToken: 4,096 at most.
	maxTokenBytes = 16 << 20
	leastToken    = 4 << 10
)

// tokenKey identifies a version of a secret.
type tokenKey struct {
	account int64
	name    string
	version int64
}

// tokens keeps tokens in memory. Each is fetched once at a time, however many
// attempts wait for it.
type tokens struct {
	client Sender
	now    func() time.Time
	log    *slog.Logger

	// kept are the tokens. An account displaces its own, not those of others.
	kept    *fair.Cache[tokenKey, token]
	mu      sync.Mutex
	flights map[tokenKey]*flight
	under   sync.WaitGroup
	ctx     context.Context
	cancel  context.CancelFunc
}

type token struct {
	text  string
	until time.Time
}

// flight is a request for a token under way.
type flight struct {
	done  chan struct{}
	token token
	err   error
}

func (t *tokens) open(c Config) {
	t.client, t.now, t.log = c.Client, c.Now, c.Log
	t.kept, t.flights = fair.NewCache[tokenKey, token](maxTokenBytes), map[tokenKey]*flight{}
	t.ctx, t.cancel = context.WithCancel(context.Background())
}

func (t *tokens) close() {
	t.cancel()
	t.under.Wait()
}

// known returns the token that is kept for a secret; "" if there is none.
func (t *tokens) known(key tokenKey) string {
	kept, _ := t.kept.Get(key)
	return kept.text
}

// get returns a token that is not stale: one that is kept, or else a new one.
func (t *tokens) get(ctx context.Context, key tokenKey, c *credentials, stale string) (string, error) {
	t.mu.Lock()
	if kept, ok := t.kept.Get(key); ok && kept.text != stale && t.now().Before(kept.until) {
		t.mu.Unlock()
		return kept.text, nil
	}
	f := t.flights[key]
	if f == nil {
		if t.ctx.Err() != nil {
			t.mu.Unlock()
			return "", errors.New("the service stops")
		}
		f = &flight{done: make(chan struct{})}
		t.flights[key] = f
		t.under.Go(func() { t.fly(key, c, f) })
	}
	t.mu.Unlock()
	select {
	case <-f.done:
		return f.token.text, f.err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// fly fetches a token for all that wait for it.
func (t *tokens) fly(key tokenKey, c *credentials, f *flight) {
	defer close(f.done)
	defer func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		delete(t.flights, key)
		if f.err == nil {
			t.keep(key, f.token)
		}
	}()
	err := fault.Guard(func() (err error) {
		f.token, err = t.fetch(key.account, c)
		return err
	})
	if errors.As(err, new(*fault.PanicError)) {
		t.log.Error("panic in fetching a token", "account", key.account, "secret", key.name, "error", err)
		err = errors.New("the service failed; see its log")
	}
	f.err = err
}

func (t *tokens) keep(key tokenKey, fresh token) {
	if !t.now().Before(fresh.until) {
		t.kept.Delete(key)
		return
	}
	t.kept.Put(key.account, key, fresh, max(leastToken, int64(len(fresh.text))))
}

// fetch exchanges credentials for a token. As most servers do, it first sends
// the credentials in the header Authorization; if they are refused, it sends
// them in the body.
func (t *tokens) fetch(account int64, c *credentials) (token, error) {
	ctx, cancel := context.WithTimeout(t.ctx, fetchTimeout)
	defer cancel()
	form := url.Values{"grant_type": {"client_credentials"}}
	if c.Scope != "" {
		form.Set("scope", c.Scope)
	}
	basic := "Basic " + base64.StdEncoding.EncodeToString([]byte(escaped(c.ClientID)+":"+escaped(c.ClientSecret)))
	outcome := t.request(ctx, account, c, form, execute.Field{Name: "Authorization", Value: basic})
	if r := outcome.Response; r != nil && (r.Status == 400 || r.Status == 401) {
		form.Set("client_id", c.ClientID)
		form.Set("client_secret", c.ClientSecret)
		outcome = t.request(ctx, account, c, form)
	}
	read, err := t.read(outcome)
	if err != nil {
		// The message may repeat what the server sent.
		return token{}, errors.New(newMask([]string{c.ClientSecret}).text(err.Error()))
	}
	return read, nil
}

func (t *tokens) request(ctx context.Context, account int64, c *credentials, form url.Values, header ...execute.Field) job.Outcome {
	return t.client.Do(ctx, execute.Request{
		// No second request follows one that got lost on a connection.
		Party: execute.Party{Account: account, Purpose: execute.ForToken}, Recent: true,
		Method: "POST", URL: c.TokenURL, Body: []byte(form.Encode()), Timeout: fetchTimeout,
		Header: append(header, execute.Field{Name: "Content-Type", Value: "application/x-www-form-urlencoded"},
			execute.Field{Name: "Accept", Value: "application/json"}),
	})
}

// errorCode matches the error codes of RFC 6749, section 5.2.
var errorCode = regexp.MustCompile(`^[a-z_]{1,40}$`)

func (t *tokens) read(o job.Outcome) (token, error) {
	if o.Failure != nil {
		return token{}, errors.New(o.Failure.Message)
	}
	r := o.Response
	var body struct {
		Token   string          `json:"access_token"`
		Expires json.RawMessage `json:"expires_in"`
		Error   string          `json:"error"`
	}
	unreadable := r.Truncated || json.Unmarshal(r.Body, &body) != nil
	switch {
	case r.Status != 200 && !unreadable && errorCode.MatchString(body.Error):
		return token{}, fmt.Errorf("the token URL responded with status %d and the error %s", r.Status, body.Error)
	case r.Status != 200:
		return token{}, fmt.Errorf("the token URL responded with status %d", r.Status)
	case unreadable || body.Token == "":
		return token{}, errors.New("the response of the token URL has no access_token")
	case whyNotText(body.Token, 1, maxToken) != "":
		return token{}, errors.New("the access_token " + whyNotText(body.Token, 1, maxToken))
	}
	return token{body.Token, t.now().Add(life(body.Expires))}, nil
}

// life returns how long a token is used, from its expires_in: a number of
// seconds, which some servers send as a string.
func life(expires json.RawMessage) time.Duration {
	text := string(expires)
	if unquoted, err := strconv.Unquote(text); err == nil {
		text = unquoted
	}
	seconds, err := strconv.ParseFloat(text, 64)
	if err != nil || seconds != seconds {
		return defaultLife
	}
	if seconds > (maxLife + beforeExpiry).Seconds() {
		return maxLife
	}
	return time.Duration(max(seconds, 0)*float64(time.Second)) - beforeExpiry
}
