package auth

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/identity"
)

// Scopes are the scopes of keys. Each includes those before it.
var Scopes = []identity.Scope{identity.ScopeRead, identity.ScopeJobs, identity.ScopeAdmin}

// Permit returns a Forbidden fault if the caller's key lacks the needed scope.
func (c *Caller) Permit(needed identity.Scope) error {
	switch {
	case slices.Index(Scopes, c.Scope) >= slices.Index(Scopes, needed):
		return nil
	case c.Public:
		return SharedKey()
	}
	return fault.New(fault.Forbidden, fmt.Sprintf("this call needs a key with the scope %s, and this key has the scope %s; "+
		"use another key, or create one with that scope in the dashboard's settings or by punctual keys create EMAIL --scope %s", needed,
		c.Scope, needed))
}

// SharedKey returns the fault for a call that the public key does not permit.
func SharedKey() error {
	return fault.New(fault.Forbidden, "everybody shares the public key; create an account and use one of its keys")
}

// usable returns a fault if the key has expired or can't be used from an address.
func (c *Caller) usable(now time.Time, from netip.Addr) error {
	if !c.expires.IsZero() && !now.Before(c.expires) {
		return fault.New(fault.Unauthorized, "this key expired at "+c.expires.UTC().Format(time.RFC3339)+"; create another one")
	}
	if len(c.networks) == 0 {
		return nil
	}
	from = from.Unmap().WithZone("")
	if slices.ContainsFunc(c.networks, func(p netip.Prefix) bool { return p.Contains(from) }) {
		return nil
	}
	where := "an unknown address"
	if from.IsValid() {
		where = from.String()
	}
	return fault.New(fault.Forbidden, "this key can be used only from certain networks, and this call came from "+where+
		"; call from one of them, or create a key that includes this address")
}

// KeySpec describes a new key.
type KeySpec struct {
	Name      string         // at most 255 printable characters
	Scope     identity.Scope // "" for admin
	ExpiresAt time.Time      // zero: never
	CIDRs     []string       // networks and addresses it can be used from; empty: any

	madeBy  string
	ceiling identity.Role
}

// MaxCIDRs is how many networks a key may have.
const MaxCIDRs = 20

// TooManyCIDRs completes the sentence "FIELD …" for a list with more.
const TooManyCIDRs = "must have at most 20 networks"

// maxKeyLife is how far ahead a key may expire.
const maxKeyLife = 100 * 366 * 24 * time.Hour

// check returns the problems of a spec, and normalises it as it is stored.
func (k *KeySpec) check(now time.Time) (problems []fault.Problem) {
	add := func(pointer, detail string) {
		problems = append(problems, fault.Problem{Pointer: pointer, Detail: detail})
	}
	odd := func(r rune) bool { return !unicode.IsPrint(r) }
	if !utf8.ValidString(k.Name) || utf8.RuneCountInString(k.Name) > maxKeyName || strings.ContainsFunc(k.Name, odd) {
		add("#/name", fmt.Sprintf("must be at most %d printable characters", maxKeyName))
	}
	if k.Scope == "" {
		k.Scope = identity.ScopeAdmin
	}
	if !slices.Contains(Scopes, k.Scope) {
		add("#/scope", "must be read, jobs or admin")
	}
	if !k.ExpiresAt.IsZero() && (!k.ExpiresAt.After(now) || k.ExpiresAt.After(now.Add(maxKeyLife))) {
		add("#/expires_at", "must be in the future, by at most 100 years")
	}
	if len(k.CIDRs) > MaxCIDRs {
		add("#/cidrs", TooManyCIDRs)
		return problems
	}
	var networks []string
	for i, text := range k.CIDRs {
		network, err := parseNetwork(text)
		if err != nil {
			add(fmt.Sprintf("#/cidrs/%d", i), err.Error())
		} else if !slices.Contains(networks, network.String()) {
			networks = append(networks, network.String())
		}
	}
	k.CIDRs = networks
	return problems
}

// parseNetwork parses a network in CIDR notation, or a single address.
func parseNetwork(text string) (netip.Prefix, error) {
	if address, err := netip.ParseAddr(text); err == nil && address.Zone() == "" {
		address = address.Unmap()
		return netip.PrefixFrom(address, address.BitLen()), nil
	}
	network, err := netip.ParsePrefix(text)
	if err != nil || network.Addr().Is4In6() {
		return netip.Prefix{}, errors.New("must be a network such as 192.0.2.0/24 or 2001:db8::/32, or an address")
	}
	return network.Masked(), nil
}

func parseNetworks(texts []string) (networks []netip.Prefix, err error) {
	for _, text := range texts {
		network, err := netip.ParsePrefix(text)
		if err != nil {
			return nil, err
		}
		networks = append(networks, network)
	}
	return networks, nil
}
