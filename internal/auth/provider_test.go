package auth

import (
	"testing"
	"time"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/identity"
)

func claimsOf(email string) *ProviderClaims {
	return &ProviderClaims{ProviderSession: identity.ProviderSession{Issuer: "https://login.example", Subject: email}, Email: email,
		Verified: true}
}

func TestProviderPolicy_Roles(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		roles  map[string]identity.Role
		values []string
		want   identity.Role
	}{
		{DefaultRoles(true), []string{"viewer", "admin", "editor"}, identity.RoleAdmin},
		{DefaultRoles(true), []string{"root"}, ""},
		{DefaultRoles(true), nil, ""},
		{DefaultRoles(false), nil, identity.RoleViewer},
		{map[string]identity.Role{"*": identity.RoleViewer, "ops": identity.RoleOwner}, []string{"ops"}, identity.RoleOwner},
		{map[string]identity.Role{"*": identity.RoleEditor, "ops": identity.RoleViewer}, []string{"ops"}, identity.RoleEditor},
	} {
		if got := (&ProviderPolicy{Roles: c.roles}).role(c.values); got != c.want {
			t.Errorf("%v of %v: %q, want %q", c.values, c.roles, got, c.want)
		}
	}
}

// People who have left an organization keep their Google account with its address.
func TestProviderPolicy_GoogleMustNameTheDomain(t *testing.T) {
	t.Parallel()
	o := &ProviderPolicy{Issuer: google, Domains: []string{"example.com"}}
	c := claimsOf("ann@example.com")
	if _, err := o.admit(c); fault.CodeOf(err) != fault.Forbidden {
		t.Errorf("without a domain: %v", err)
	}
	c.Domain = "Example.com"
	if email, err := o.admit(c); err != nil || email != "ann@example.com" {
		t.Errorf("with the domain: %q, %v", email, err)
	}
}

func TestProviderSignIn_TheLastOwnerStaysOne(t *testing.T) {
	w := newTown(t, SignupFirst)
	w.Provider = &ProviderPolicy{Issuer: "https://login.example", Domains: []string{"example.com"}, Roles: DefaultRoles(true),
		ByClaim: true, Join: JoinFirst}
	c := claimsOf("ann@example.com")
	c.Roles = []string{"viewer"}
	var in SignedIn
	for range 2 {
		var err error
		in, err = w.ProviderSignIn(t.Context(), c, "", Client{Address: home})
		w.wantCode("signing in", err, 0)
	}
	if v, err := w.Session(t.Context(), in.Token); err != nil || v.Role != identity.RoleOwner || !v.Account.Operator ||
		v.Person.EmailState != identity.EmailConfirmed {
		t.Errorf("the first is %+v, %v", v, err)
	}
}

func TestProviderSignIn_SignupSaysWhoGetsAnAccount(t *testing.T) {
	w := newTown(t, SignupFirst)
	w.Provider = &ProviderPolicy{Issuer: "https://login.example", Roles: DefaultRoles(false), Join: JoinNone}
	in, err := w.ProviderSignIn(t.Context(), claimsOf("ann@example.com"), "", Client{Address: home})
	w.wantCode("the first", err, 0)
	if v, err := w.Session(t.Context(), in.Token); err != nil || v.Account.Operator || v.Role != identity.RoleOwner {
		t.Errorf("the first of anybody is %+v, %v", v, err)
	}
	_, err = w.ProviderSignIn(t.Context(), claimsOf("bob@example.com"), "", Client{Address: home})
	w.wantCode("a second", err, fault.Forbidden)
	w.Signup = SignupOpen
	_, err = w.ProviderSignIn(t.Context(), claimsOf("bob@example.com"), "", Client{Address: home})
	w.wantCode("a second with open sign-up", err, 0)
	// A provider that is not configured any more can't end the session, so it ends.
	w.Provider = nil
	_, err = w.Session(t.Context(), in.Token)
	w.wantCode("without the provider", err, fault.Unauthorized)
}

func TestProviderSignIn_ASecondFactorIsAskedFor(t *testing.T) {
	w := newTown(t, SignupFirst)
	v, _, _ := w.citizen("ann@example.com")
	w.Provider = &ProviderPolicy{Issuer: "https://login.example", Roles: DefaultRoles(false), Join: JoinNone}
	if err := w.s.PersonConfirm(t.Context(), v.Person.ID); err != nil {
		t.Fatal(err)
	}
	if err := w.s.PersonTOTP(t.Context(), v.Person.ID, func(*identity.TOTP) (*identity.TOTP, error) {
		return &identity.TOTP{Secret: []byte("x"), CreatedAt: w.now, ConfirmedAt: w.now,
			Recovery: [][]byte{hashKey(bareCode("abcde-fghij"))}}, nil
	}); err != nil {
		t.Fatal(err)
	}
	// The first sign-in connects, and keeps a password whose owner has confirmed the email.
	for i, want := range []fault.Code{0, fault.Unauthorized} {
		in, err := w.ProviderSignIn(t.Context(), claimsOf("ann@example.com"), "", Client{Address: home})
		w.wantCode("signing in", err, 0)
		if !in.NeedsCode {
			t.Fatal("no code is asked for")
		}
		_, err = w.Session(t.Context(), in.Token)
		w.wantCode("without the code", err, fault.Unauthorized)
		token, err := w.GiveCode(t.Context(), in.Token, "abcde-fghij", Client{Address: home})
		w.wantCode("the code, which works once", err, want)
		if i > 0 {
			continue
		}
		if v, err := w.Session(t.Context(), token); err != nil || v.Session.Provider.Subject != "ann@example.com" ||
			v.Person.Password == "" {
			t.Errorf("the session is %+v, %v", v, err)
		}
	}
}

func TestConfirmVisit_NeedsARecentSignIn(t *testing.T) {
	w := newTown(t, SignupFirst)
	w.Provider = &ProviderPolicy{Issuer: "https://login.example", Domains: []string{"example.com"}, Roles: DefaultRoles(false),
		Join: JoinFirst}
	in, err := w.ProviderSignIn(t.Context(), claimsOf("ann@example.com"), "", Client{Address: home})
	w.wantCode("signing in", err, 0)
	v, err := w.Session(t.Context(), in.Token)
	w.wantCode("the session", err, 0)
	w.wantCode("at once", w.confirmVisit(t.Context(), v, "", home), 0)
	w.pass(freshFor + time.Second)
	w.wantCode("later", w.confirmVisit(t.Context(), v, "", home), fault.Invalid)
}
