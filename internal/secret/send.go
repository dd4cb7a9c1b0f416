package secret

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/punctual-dev/punctual/internal/execute"
	"github.com/punctual-dev/punctual/internal/identity"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/placeholder"
)

// Needed reports whether header fields have placeholders.
func Needed(header []execute.Field) bool {
	return slices.ContainsFunc(header, func(f execute.Field) bool { return strings.Contains(f.Value, "{{") })
}

// unreadWait is how long an attempt whose secrets can't be read from the store
// waits, so that it is not retried at once.
const unreadWait = time.Second

// Do sends a job's request with its placeholders replaced, and returns the
// outcome with the values masked. It adds what proof asks for. If a secret is gone, can't be decrypted or may
// not be sent to the host, nothing is sent and the kind of failure is
// job.KindSecret. A 401 to a request with a token of OAuth2 is repeated once
// with a new token.
func (v *Vault) Do(ctx context.Context, owner job.Owner, request execute.Request, proof Proof) job.Outcome {
	start := time.Now()
	ctx, cancel := bounded(ctx, request.Timeout)
	defer cancel()
	s := &sending{vault: v, owner: owner, request: request, proof: proof, start: start, used: map[string]string{}}
	outcome, _ := s.send(ctx)
	if r := outcome.Response; r != nil && r.Status == 401 && len(s.used) > 0 {
		before := s.used
		s.stale, s.used = before, map[string]string{}
		if again, begun := s.send(ctx); replaces(again, begun) {
			outcome = again
		}
	}
	if len(s.values) > 0 {
		outcome = withoutCoded(outcome)
		if mayHold(&outcome, s.values) {
			outcome = newMask(s.values).outcome(outcome)
		}
	}
	outcome.Duration = time.Since(start)
	return outcome
}

// replaces reports whether the outcome of a second request counts rather than the
// response to the first one: if it was sent, or the job was cancelled. An outcome that
// does not count as an attempt must not replace a response: the request would be sent
// again without a retry.
func replaces(o job.Outcome, begun bool) bool {
	switch {
	case o.Failure == nil, o.Failure.Kind == job.KindCancelled:
		return true
	}
	return begun && o.Failure.Kind != job.KindInterrupted
}

// errTimeout is the cause of a context that ended at the timeout of an attempt.
var errTimeout = errors.New("the time allowed ran out")

// bounded returns a context for an attempt, whose requests share its timeout.
func bounded(ctx context.Context, timeout time.Duration) (context.Context, context.CancelFunc) {
	if timeout <= 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeoutCause(ctx, timeout, errTimeout)
}

// sending is one attempt of a request.
type sending struct {
	vault   *Vault
	owner   job.Owner
	request execute.Request
	proof   Proof
	bearer  string // the token of proof, of which an attempt has one
	start   time.Time

	stale  map[string]string // tokens that a 401 was the response to, by name
	used   map[string]string // tokens in use, by name
	values []string          // everything to mask
	sent   []string          // of values, those that the header has
	kept   []string          // of sent, those that are stored for reports
}

// send sends the request. begun is false if it could not be prepared.
func (s *sending) send(ctx context.Context) (outcome job.Outcome, begun bool) {
	request := s.request
	if f := s.resolve(ctx, &request); f != nil {
		return job.Outcome{Failure: f}, false
	}
	if f := s.prove(ctx, &request); f != nil {
		return job.Outcome{Failure: f}, false
	}
	if s.stale != nil && !s.renewed() {
		return job.Outcome{Failure: failed("there is no other token")}, false
	}
	if f := s.keep(ctx, &request); f != nil {
		return job.Outcome{Failure: f}, false
	}
	if request.Timeout > 0 {
		request.Timeout = max(request.Timeout-time.Since(s.start), time.Millisecond)
	}
	return s.vault.Client.Do(ctx, request), true
}

// renewed reports whether any token has changed since the 401.
func (s *sending) renewed() bool {
	for name, token := range s.used {
		if s.stale[name] != token {
			return true
		}
	}
	return false
}

func failed(message string) *job.Failure {
	return &job.Failure{Kind: job.KindSecret, Message: message + "; nothing was sent"}
}

// resolve replaces the placeholders in the header of a request.
func (s *sending) resolve(ctx context.Context, request *execute.Request) *job.Failure {
	parsed := make([][]placeholder.Part, len(request.Header))
	var names []string
	uses := 0
	for i, f := range request.Header {
		parsed[i], _ = placeholder.Parse(f.Value)
		for _, p := range parsed[i] {
			if p.Secret == "" {
				continue
			}
			uses++
			if !slices.Contains(names, p.Secret) {
				names = append(names, p.Secret)
			}
		}
	}
	if uses > job.MaxSecretUses {
		return failed("the headers have too many placeholders for secrets")
	}
	values, hosts, failure := s.read(ctx, names, request.URL)
	if failure != nil {
		return failure
	}
	request.Plain = request.Plain || len(names) > 0
	header := slices.Clone(request.Header)
	size := 0
	for i, parts := range parsed {
		if parts != nil {
			header[i].Value = expand(parts, values)
			if allowed := allowedHosts(parts, hosts); allowed != nil {
				if request.Bound == nil {
					request.Bound = map[int][]string{}
				}
				request.Bound[i] = allowed
			}
		}
		size += len(header[i].Name) + len(header[i].Value) + 4
	}
	if size > job.MaxRequestHeaders {
		return &job.Failure{Kind: job.KindTooLarge,
			Message: "with the values of its secrets, the headers are too large to send; nothing was sent"}
	}
	request.Header = header
	return nil
}

func expand(parts []placeholder.Part, values map[string]string) string {
	var text strings.Builder
	for _, p := range parts {
		text.WriteString(p.Text)
		text.WriteString(values[p.Secret])
	}
	return text.String()
}

// allowedHosts returns the hosts that may receive all secrets among parts; nil
// if there are none.
func allowedHosts(parts []placeholder.Part, hosts map[string][]string) []string {
	var allowed []string
	for _, p := range parts {
		switch {
		case p.Secret == "":
		case allowed == nil:
			allowed = append([]string{}, hosts[p.Secret]...)
		default:
			allowed = slices.DeleteFunc(allowed, func(host string) bool { return !slices.Contains(hosts[p.Secret], host) })
		}
	}
	return allowed
}

// read returns the values of the named secrets, and the hosts that may receive
// them. It fails if target is none of theirs.
func (s *sending) read(ctx context.Context, names []string, target string) (map[string]string, map[string][]string, *job.Failure) {
	values, hosts := map[string]string{}, map[string][]string{}
	if len(names) == 0 {
		return values, hosts, nil
	}
	found, failure := s.find(ctx, names, target)
	if failure != nil {
		return nil, nil, failure
	}
	for _, h := range found {
		value, failure := s.value(ctx, h, job.IsPlainHTTP(target))
		if failure != nil {
			return nil, nil, failure
		}
		values[h.Name], hosts[h.Name] = value, h.Hosts
	}
	return values, hosts, nil
}

// find returns the named secrets, in their order. It fails if one does not exist, or
// may not be sent to target.
func (s *sending) find(ctx context.Context, names []string, target string) ([]*identity.HeaderSecret, *job.Failure) {
	found, err := s.vault.Records.SecretsNamed(ctx, s.owner.Number, names)
	if err != nil {
		if ctx.Err() != nil {
			return nil, stopped(ctx)
		}
		return nil, &job.Failure{
			Kind: job.KindInterrupted, Message: "the secrets could not be read; the attempt will be retried", Wait: unreadWait,
		}
	}
	byName := map[string]*identity.HeaderSecret{}
	for _, h := range found {
		byName[h.Name] = h
	}
	ordered := make([]*identity.HeaderSecret, len(names))
	for i, name := range names {
		h := byName[name]
		switch {
		case h == nil:
			return nil, failed("the secret " + name + " does not exist")
		case !slices.Contains(h.Hosts, job.Host(target)):
			return nil, failed("the secret " + name + " may not be sent to " + job.Host(target))
		}
		ordered[i] = h
	}
	return ordered, nil
}

// decrypt decrypts a secret. plain is whether it is sent over http.
func (s *sending) decrypt(h *identity.HeaderSecret, plain bool) (*content, *job.Failure) {
	overHTTPS := failed("the secret " + h.Name + " may be sent over https only")
	if plain && !h.HTTP {
		return nil, overHTTPS
	}
	c, err := s.vault.open(s.owner, h)
	switch {
	case err != nil:
		return nil, failed("the secret " + h.Name + " can't be decrypted: " + err.Error())
	case plain && !c.http:
		return nil, overHTTPS
	}
	return c, nil
}

// value decrypts a secret, and exchanges credentials for a token. plain is whether it is
// sent over http.
func (s *sending) value(ctx context.Context, h *identity.HeaderSecret, plain bool) (string, *job.Failure) {
	c, failure := s.decrypt(h, plain)
	switch {
	case failure != nil:
		return "", failure
	case c.kind() != job.SecretForHeaders:
		return "", failed("the secret " + h.Name + " is " + kindNames[c.kind()] + "; headers need " + kindNames[job.SecretForHeaders])
	}
	if c.OAuth2 == nil {
		s.hide(c.Value)
		s.sent = append(s.sent, c.Value)
		return c.Value, nil
	}
	s.hide(c.OAuth2.ClientSecret)
	token, err := s.vault.tokens.get(ctx, tokenKey{s.owner.Number, h.Name, h.UpdatedAt.UnixMicro()}, c.OAuth2, s.stale[h.Name])
	switch {
	case ctx.Err() != nil:
		return "", stopped(ctx)
	case err != nil:
		return "", failed("no token could be fetched for the secret " + h.Name + ": " + err.Error())
	}
	s.hide(token)
	s.sent = append(s.sent, token)
	s.used[h.Name] = token
	return token, nil
}

func (s *sending) hide(value string) {
	s.values = append(s.values, value)
}

// stopped returns the failure of an attempt that ended before its request was
// sent.
func stopped(ctx context.Context) *job.Failure {
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, execute.ErrCancelled):
		return &job.Failure{Kind: job.KindCancelled, Message: "the job was cancelled before the request was sent"}
	case errors.Is(cause, errTimeout), errors.Is(cause, context.DeadlineExceeded):
		return &job.Failure{Kind: job.KindTimeout, Message: "the time allowed ran out before the request was sent"}
	}
	return &job.Failure{Kind: job.KindInterrupted, Message: "the service stopped before the request was sent; the attempt will be retried"}
}

// escaped encodes a part of HTTP Basic credentials (RFC 6749, section 2.3.1).
func escaped(text string) string { return url.QueryEscape(text) }
