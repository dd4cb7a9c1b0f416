package auth

import (
	"context"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/identity"
	"github.com/punctual-dev/punctual/internal/mailaddress"
)

// Whoever has taken over a session and knows the password can't keep the notice from the
// old email by having links sent there before.
func TestUseNewEmail_TellsTheOldOneHoweverManyLinksItGot(t *testing.T) {
	w := newTown(t, SignupOpen)
	v, _, _ := w.citizen("ann@example.com")
	var mu sync.Mutex
	sent := map[identity.Purpose]int{}
	token := ""
	w.PublicURL = &url.URL{Scheme: "https", Host: "punctual.example"}
	w.Mail = func(_ context.Context, to mailaddress.Address, purpose identity.Purpose, link string) error {
		mu.Lock()
		defer mu.Unlock()
		if purpose == identity.ForChange {
			_, token, _ = strings.Cut(link, ChangePath)
		} else if to.String() == "ann@example.com" {
			sent[purpose]++
		}
		return nil
	}
	for range 5 {
		w.wantCode("asking for a link", w.ForgotPassword(t.Context(), "ann@example.com", "198.51.100.7"), 0)
		w.Close() // waits until it is sent
	}
	w.wantCode("asking for the change", w.ChangeEmail(t.Context(), v, "eve@example.com", password, home), 0)
	w.Close()
	_, err := w.UseNewEmail(t.Context(), token, password, Client{Address: home})
	w.wantCode("changing", err, 0)
	w.Close()
	if sent[identity.ForReset] != 3 || sent[identity.ForNotice] != 1 {
		t.Errorf("the old email got %v, want 3 links and the notice", sent)
	}
}

// The account that people join keeps its name: a stranger could take it.
func TestChangeEmail_OfTheAccountThatPeopleJoin(t *testing.T) {
	w := newTown(t, SignupOpen)
	v, _, _ := w.citizen("ann@example.com")
	w.PublicURL = &url.URL{Scheme: "https", Host: "punctual.example"}
	w.Mail = func(context.Context, mailaddress.Address, identity.Purpose, string) error { return nil }
	w.Provider = &ProviderPolicy{Join: "Ann@example.com"}
	w.wantCode("with it as --oidc-account", w.ChangeEmail(t.Context(), v, "anna@example.com", password, home), fault.Invalid)
	w.Provider.Join = JoinFirst
	w.wantCode("with another", w.ChangeEmail(t.Context(), v, "anna@example.com", password, home), 0)
	w.Close()
}
