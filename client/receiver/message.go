package receiver

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/punctual-dev/punctual/client"
)

// Options configure a receiver. Verifier is required.
type Options struct {
	// Verifier checks signatures.
	Verifier *client.Verifier
	// Tokens, if not nil, also verifies the token that jobs with Auth.OIDC have, which
	// callbacks and webhooks don't. Handlers check the account: see Claims.
	Tokens *client.TokenVerifier
	// MaxBody limits a request's body; 4 MiB if zero. A larger one is answered
	// with 413.
	MaxBody int64
	// MaxResponse limits the handler's response, which is kept to answer repeats;
	// 256 KiB if zero, what the service keeps of a response. A larger one is an error.
	MaxResponse int
	// Remember is for how long ids are kept; 24 hours if zero, for NewSQL 30 days.
	// It should be longer than all retries of a job take.
	Remember time.Duration
	// MaxMessages and MaxBytes limit what New keeps in memory: ids, and responses
	// with them; 10,000 and 16 MiB if zero. The oldest are forgotten first. Messages
	// that are being handled don't count: the server's concurrency bounds them.
	MaxMessages int
	MaxBytes    int
	// Failed is called with errors that a 5xx reports to the service; nil ignores them.
	Failed func(*http.Request, error)
	// Now is the clock; time.Now if nil.
	Now func() time.Time
}

// withDefaults fills in what is zero.
func (o Options) withDefaults(remember time.Duration) (Options, error) {
	if o.Verifier == nil {
		return o, errors.New("receiver: Options.Verifier is missing; make one with client.NewVerifier")
	}
	setDefault(&o.MaxBody, 4<<20)
	setDefault(&o.MaxResponse, 256<<10)
	setDefault(&o.Remember, remember)
	setDefault(&o.MaxMessages, 10_000)
	setDefault(&o.MaxBytes, 16<<20)
	if o.Failed == nil {
		o.Failed = func(*http.Request, error) {}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return o, nil
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

type contextKey struct{}

type claimsKey struct{}

// Claims returns what the token of a request says, if Options.Tokens verifies tokens;
// else it is zero.
func Claims(ctx context.Context) client.Claims {
	claims, _ := ctx.Value(claimsKey{}).(client.Claims)
	return claims
}

// Message returns what the signature of a request vouches for. It is for handlers
// behind a receiver; for other requests it is zero.
func Message(ctx context.Context) client.Signed {
	signed, _ := ctx.Value(contextKey{}).(client.Signed)
	return signed
}

// verified reads and verifies a request. It answers and returns nil if the request is
// to be refused.
func (o Options) verified(w http.ResponseWriter, r *http.Request) *http.Request {
	if r.Header.Get("Webhook-Signature") == "" { // not worth reading
		http.Error(w, "the signature is missing", http.StatusUnauthorized)
		return nil
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, o.MaxBody))
	if err != nil {
		var tooLarge *http.MaxBytesError
		if errors.As(err, &tooLarge) {
			http.Error(w, "the body is too large", http.StatusRequestEntityTooLarge)
		} else {
			http.Error(w, "the body could not be read", http.StatusBadRequest)
		}
		return nil
	}
	signed, err := o.Verifier.Verify(r.Header, body)
	if err != nil {
		http.Error(w, "the signature is missing, wrong or too old", http.StatusUnauthorized)
		return nil
	}
	ctx := context.WithValue(r.Context(), contextKey{}, signed)
	if o.Tokens != nil {
		claims, err := o.Tokens.VerifyRequest(r)
		switch {
		case err != nil && !errors.Is(err, client.ErrToken):
			o.unavailable(w, r, err)
			return nil
		case err != nil || claims.ID != signed.ID:
			http.Error(w, "the token is missing, wrong or no longer valid", http.StatusUnauthorized)
			return nil
		}
		ctx = context.WithValue(ctx, claimsKey{}, claims)
	}
	r = r.WithContext(ctx)
	r.Body = io.NopCloser(bytes.NewReader(body))
	return r
}

// unavailable asks the service to send the message again.
func (o Options) unavailable(w http.ResponseWriter, r *http.Request, err error) {
	o.Failed(r, err)
	w.Header().Set("Retry-After", "1")
	http.Error(w, "the message could not be processed now", http.StatusServiceUnavailable)
}
