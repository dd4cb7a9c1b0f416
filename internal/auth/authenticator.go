package auth

import (
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/audit"
	"github.com/punctual-dev/punctual/internal/execute"
	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/identity"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/quota"
	"github.com/punctual-dev/punctual/internal/store"
)

// remember is how long a look-up is cached.
const remember = time.Second

// usedEvery is the precision of the time a key was last used.
const usedEvery = 30 * time.Second

// Store is what an Authenticator needs of a store.
type Store interface {
	store.Accounts
	store.AccountIDs
	store.SigningKeys
}

// Config configures an Authenticator.
type Config struct {
	Store     Store
	Now       func() time.Time
	PublicKey string // "" for none
	Log       *slog.Logger
	Audit     *audit.Log // nil records nothing
}

// Authenticator identifies callers by their keys, and provides accounts' signing
// secrets.
type Authenticator struct {
	Config
	public     *identity.Account
	publicHash []byte
	callers    cache[string, Caller]
	accounts   cache[int64, *identity.Account]
	known      quota.Known[[32]byte] // hashes of keys that were valid when last looked up
	signing    cache[int64, execute.Signing]
	tokens     cache[int64, TokenKeys]

	mu   sync.Mutex
	used map[uuid.UUID]time.Time // not yet stored
}

// Caller is the account and the key that a call was made with.
type Caller struct {
	job.Owner
	Key    uuid.UUID // the key's ID; uuid.Nil for the public key
	Public bool      // the key is the shared public key
	Scope  identity.Scope
	Role   identity.Role // what the key permits, as a person's role
	Name   string        // the key's name; "" for the public key
	Prefix string        // the first characters of the key; "" for the public key

	expires  time.Time // zero: never
	networks []netip.Prefix
}

// New returns an Authenticator.
func New(ctx context.Context, config Config) (*Authenticator, error) {
	a := &Authenticator{Config: config, used: map[uuid.UUID]time.Time{}}
	if config.PublicKey == "" {
		return a, nil
	}
	public, err := PublicAccount(ctx, config.Store, config.Now())
	if err != nil {
		return nil, fmt.Errorf("preparing the account of the public key: %w", err)
	}
	a.public, a.publicHash = public, hashKey(config.PublicKey)
	return a, nil
}

// Public returns the account of the shared public key, or nil if there is none.
func (a *Authenticator) Public() *identity.Account { return a.public }

// Authenticate returns the caller whose key an Authorization header contains. It
// returns an Unauthorized fault if the key is missing, unknown or expired, and a
// Forbidden fault if the key can't be used from the client's address.
func (a *Authenticator) Authenticate(ctx context.Context, header string, from netip.Addr) (Caller, error) {
	scheme, key, _ := strings.Cut(header, " ")
	key = strings.TrimSpace(key)
	switch {
	case header == "":
		return Caller{}, fault.New(fault.Unauthorized, "this call needs a key; send the header Authorization: Bearer KEY")
	case !strings.EqualFold(scheme, "bearer") && !strings.EqualFold(scheme, "token"), key == "":
		return Caller{}, fault.New(fault.Unauthorized, "the header Authorization must read Bearer KEY or Token KEY")
	}
	hash := hashKey(key)
	if a.public != nil && equal(hash, a.publicHash) {
		return Caller{Owner: a.public.Owner, Public: true, Scope: identity.ScopeJobs, Role: identity.RoleEditor}, nil
	}
	c, err := a.callers.get(string(hash), a.Now(), func() (Caller, error) { return a.lookUp(ctx, hash) })
	if err == nil {
		err = c.usable(a.Now(), from)
	}
	if err != nil {
		if fault.CodeOf(err) == fault.Unauthorized {
			a.known.Remove([32]byte(hash))
		}
		return Caller{}, err
	}
	a.known.Add([32]byte(hash))
	a.noteUse(c.Key)
	return c, nil
}

func (a *Authenticator) lookUp(ctx context.Context, hash []byte) (Caller, error) {
	k, err := a.Store.KeyFind(ctx, hash)
	if err != nil {
		if fault.CodeOf(err) == fault.NotFound {
			err = fault.New(fault.Unauthorized, "this key is unknown or was revoked; check it, or create another")
		}
		return Caller{}, err
	}
	account, err := a.Account(ctx, k.Account)
	if err != nil {
		return Caller{}, fmt.Errorf("reading the account of a key: %w", err)
	}
	networks, err := parseNetworks(k.CIDRs)
	if err != nil {
		return Caller{}, fmt.Errorf("reading the networks of key %s: %w", k.ID, err)
	}
	return Caller{Owner: account.Owner, Key: k.ID, Scope: k.Scope, Role: k.Role(), Name: k.Name, Prefix: k.Prefix, expires: k.ExpiresAt,
		networks: networks}, nil
}

func (a *Authenticator) noteUse(key uuid.UUID) {
	a.mu.Lock()
	a.used[key] = a.Now()
	a.mu.Unlock()
}

// Forget clears the caches. Call it after keys are revoked or an account is deleted.
func (a *Authenticator) Forget() {
	a.callers.clear()
	a.accounts.clear()
	a.signing.clear()
	a.tokens.clear()
}

// Run periodically stores when keys were last used, until ctx is done.
func (a *Authenticator) Run(ctx context.Context) {
	ticker := time.NewTicker(usedEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			a.storeUses(context.WithoutCancel(ctx))
			return
		}
		a.storeUses(ctx)
	}
}

func (a *Authenticator) storeUses(ctx context.Context) {
	a.mu.Lock()
	used := a.used
	a.used = map[uuid.UUID]time.Time{}
	a.mu.Unlock()
	if len(used) == 0 {
		return
	}
	if err := a.Store.KeyUsed(ctx, used); err != nil {
		a.Log.Warn("storing when keys were last used failed", "error", err)
	}
}

// cache caches successful look-ups for a short time.
type cache[K comparable, V any] struct {
	mu      sync.Mutex
	entries map[K]remembered[V]
}

type remembered[V any] struct {
	value V
	at    time.Time
}

// maxRemembered is the largest size of a cache; a full cache is cleared.
const maxRemembered = 100_000

func (c *cache[K, V]) clear() {
	c.mu.Lock()
	c.entries = nil
	c.mu.Unlock()
}

func (c *cache[K, V]) get(key K, now time.Time, lookUp func() (V, error)) (V, error) {
	c.mu.Lock()
	known, ok := c.entries[key]
	c.mu.Unlock()
	if ok && now.Sub(known.at).Abs() < remember {
		return known.value, nil
	}
	value, err := lookUp()
	if err != nil {
		return value, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.entries == nil || len(c.entries) >= maxRemembered {
		c.entries = map[K]remembered[V]{}
	}
	c.entries[key] = remembered[V]{value, now}
	return value, nil
}
