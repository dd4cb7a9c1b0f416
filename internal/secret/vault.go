package secret

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/punctual-dev/punctual/internal/access"
	"github.com/punctual-dev/punctual/internal/audit"
	"github.com/punctual-dev/punctual/internal/execute"
	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/identity"
	"github.com/punctual-dev/punctual/internal/issuer"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/placeholder"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/store"
)

// Records is what a Vault needs of a store.
type Records interface {
	SecretPut(ctx context.Context, s *identity.HeaderSecret, putIf store.PutIf) (created bool, err error)
	SecretsNamed(ctx context.Context, account int64, names []string) ([]*identity.HeaderSecret, error)
	SecretList(ctx context.Context, account int64) ([]*identity.HeaderSecret, error)
	SecretDelete(ctx context.Context, account int64, name string, limit int) (uses int, err error)
	CompletionSeal(ctx context.Context, token job.TokenHash, sealed []byte) error
}

// Sender sends requests through the guard of addresses.
type Sender interface {
	Do(ctx context.Context, r execute.Request) job.Outcome
}

// Config configures a Vault.
type Config struct {
	Records Records
	Keys    *Keyring // nil: no secret can be stored or used
	Client  Sender
	Now     func() time.Time
	// CheckHost returns why a host may not be the target of a request for a token;
	// nil permits every host.
	CheckHost func(host string) string
	// Token issues a token by which targets verify who calls them; nil if none can be
	// issued.
	Token func(issuer.Claims) (string, error)
	Audit *audit.Log   // nil records nothing
	Log   *slog.Logger // nil logs nothing
}

// Vault keeps the header secrets of accounts. It is safe for concurrent use.
type Vault struct {
	Config
	tokens       tokens
	certificates *certificates
}

// New returns a Vault. The caller must Close it after the last attempt.
func New(config Config) *Vault {
	v := &Vault{Config: config, certificates: newCertificates()}
	if v.Log == nil {
		v.Log = slog.New(slog.DiscardHandler)
	}
	v.tokens.open(v.Config)
	return v
}

// Close ends the requests for tokens under way.
func (v *Vault) Close() { v.tokens.close() }

// needsKey is the fault for storing a secret without a key.
func needsKey() error {
	return fault.Refuse([]fault.Problem{{
		Pointer: "#", Detail: "can't be stored: secrets need a key to be encrypted with; start the service with --secrets-key-file (PUNCTUAL_SECRETS_KEY_FILE)",
	}})
}

// Put stores a secret from the body of a request and reports whether it is new. It
// returns a Stale fault if the condition putIf does not hold.
func (v *Vault) Put(ctx context.Context, owner job.Owner, name string, body rawjson.Value, putIf store.PutIf,
	by audit.Actor) (*identity.HeaderSecret, bool, error) {
	if err := access.Allow(ctx, "secret.Vault.Put"); err != nil {
		return nil, false, err
	}
	if v.Keys == nil {
		return nil, false, needsKey()
	}
	spec, err := readSpec(name, body, v.CheckHost)
	if err != nil {
		return nil, false, err
	}
	text, err := spec.encode()
	if err != nil {
		return nil, false, fmt.Errorf("encoding a secret: %w", err)
	}
	sealed, err := v.Keys.Seal(headerRecord(owner.ID, name, spec.hosts, spec.http), text)
	if err != nil {
		return nil, false, fmt.Errorf("encrypting a secret: %w", err)
	}
	now := v.Now().Truncate(time.Microsecond)
	s := &identity.HeaderSecret{Account: owner.Number, Name: name, Hosts: spec.hosts, HTTP: spec.http, Value: sealed, CreatedAt: now,
		UpdatedAt: now, Kind: spec.kind()}
	created, err := v.Records.SecretPut(ctx, s, putIf)
	if err != nil {
		return nil, false, err
	}
	detail := name + ", for " + strings.Join(s.Hosts, ", ")
	if s.HTTP {
		detail += ", over http too"
	}
	event := audit.HeaderSecretChanged
	if created {
		event = audit.HeaderSecretCreated
	}
	v.Audit.Audit(ctx, audit.Entry{Account: owner, Actor: by, Event: event, Detail: detail})
	return s, created, nil
}

// Get returns a secret, whose value stays encrypted, or a NotFound fault.
func (v *Vault) Get(ctx context.Context, owner job.Owner, name string) (*identity.HeaderSecret, error) {
	if !placeholder.IsName(name) {
		return nil, fault.NoSuch("secret")
	}
	found, err := v.Records.SecretsNamed(ctx, owner.Number, []string{name})
	if err == nil && len(found) == 0 {
		return nil, fault.NoSuch("secret")
	}
	if err != nil {
		return nil, err
	}
	v.describe(owner, found...)
	return found[0], nil
}

// describe sets the kinds of secrets, as far as they can be decrypted.
func (v *Vault) describe(owner job.Owner, secrets ...*identity.HeaderSecret) {
	for _, s := range secrets {
		if c, err := v.open(owner, s); err == nil {
			s.Kind = c.kind()
		}
	}
}

// List returns the secrets of an account, whose values stay encrypted, ordered
// by name.
func (v *Vault) List(ctx context.Context, owner job.Owner) ([]*identity.HeaderSecret, error) {
	found, err := v.Records.SecretList(ctx, owner.Number)
	v.describe(owner, found...)
	return found, err
}

// maxCounted is up to which number the jobs that use a secret are counted.
const maxCounted = 1000

// Delete deletes a secret. It returns a Conflict fault if unfinished jobs use it,
// and a NotFound fault if there is no such secret.
func (v *Vault) Delete(ctx context.Context, owner job.Owner, name string, by audit.Actor) error {
	if err := access.Allow(ctx, "secret.Vault.Delete"); err != nil {
		return err
	}
	if !placeholder.IsName(name) {
		return fault.NoSuch("secret")
	}
	uses, err := v.Records.SecretDelete(ctx, owner.Number, name, maxCounted)
	if err != nil {
		return err
	}
	if uses > 0 {
		count := fmt.Sprintf("%d unfinished jobs use", uses)
		switch uses {
		case 1:
			count = "1 unfinished job uses"
		case maxCounted:
			count = fmt.Sprintf("at least %d unfinished jobs use", uses)
		}
		return fault.New(fault.Conflict, count+" the secret "+name+"; cancel or change them first, or give the secret a new value")
	}
	v.Audit.Audit(ctx, audit.Entry{Account: owner, Actor: by, Event: audit.HeaderSecretDeleted, Detail: name})
	return nil
}

// Checker checks the secrets that requests of one account name. It reads each
// secret once.
type Checker struct {
	ctx   context.Context
	vault *Vault
	owner job.Owner

	mu    sync.Mutex
	known map[string]*checked // nil for one that does not exist
	err   error
}

// checked is a secret and what it is for; "" if it can't be decrypted.
type checked struct {
	*identity.HeaderSecret
	kind job.SecretKind
}

// Checker returns a Checker for one call of a client.
func (v *Vault) Checker(ctx context.Context, owner job.Owner) *Checker {
	return &Checker{ctx: ctx, vault: v, owner: owner, known: map[string]*checked{}}
}

// Check implements job.ReadOptions.CheckSecret. A nil Checker, of a service
// without a Vault, knows no secrets.
func (c *Checker) Check(name, target string, kind job.SecretKind) string {
	unknown := "names the secret " + name + ", which does not exist; PUT /api/secrets/" + name + " creates it"
	if c == nil {
		return unknown
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	s, known := c.known[name]
	if !known {
		found, err := c.vault.Get(c.ctx, c.owner, name)
		switch {
		case err == nil:
			s = &checked{found, found.Kind}
		case fault.CodeOf(err) != fault.NotFound:
			c.err = err
			return ""
		}
		c.known[name] = s
	}
	switch host := job.Host(target); {
	case s == nil:
		return unknown
	case host != "" && !slices.Contains(s.Hosts, host):
		return "names the secret " + name + ", which may not be sent to " + host + "; its hosts are " + strings.Join(s.Hosts, ", ")
	case s.kind != "" && s.kind != kind:
		return "names the secret " + name + ", which is " + kindNames[s.kind] + "; this needs " + kindNames[kind]
	case job.IsPlainHTTP(target) && !s.HTTP:
		return "names the secret " + name + ", which may be sent over https only; store it again with \"http\": true to permit http"
	}
	return ""
}

// Err returns the error that kept Check from reading a secret.
func (c *Checker) Err() error {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// open decrypts a secret.
func (v *Vault) open(owner job.Owner, s *identity.HeaderSecret) (*content, error) {
	text, http, err := v.Keys.openHeader(owner.ID, s.Name, s.Hosts, s.HTTP, s.Value)
	if err != nil {
		return nil, err
	}
	c := &content{http: http}
	if err := json.Unmarshal([]byte(text), c); err != nil {
		return nil, errors.New("its content can't be read")
	}
	return c, nil
}
