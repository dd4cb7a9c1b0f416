package auth

import (
	"testing"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/identity"
	"github.com/punctual-dev/punctual/internal/job"
)

func TestSignUp_RefusesEmailsThatLookLikeAnother(t *testing.T) {
	w := newTown(t, SignupOpen)
	w.citizen("ann@example.com")
	for _, email := range []string{"ann\u200b@example.com", "\u202eann@example.com", "\u0430nn@example.com", "an\u00adn@example.com"} {
		_, err := w.signUp(email)
		w.wantCode(email, err, fault.Invalid)
		_, err = CreateAccount(t.Context(), w.s, email, w.Now())
		w.wantCode("by the operator: "+email, err, fault.Invalid)
	}
	for _, email := range []string{"\uff21nn@example.com", "Ann@\uff25xample.com", "ann@exam\u200bple.com"} {
		_, err := w.signUp(email)
		w.wantCode(email, err, 0) // does not reveal that it is ann's
		_, err = CreateAccount(t.Context(), w.s, email, w.Now())
		w.wantCode("by the operator: "+email, err, fault.Invalid)
	}
	if accounts, err := w.s.AccountList(t.Context()); err != nil || len(accounts) != 1 {
		t.Errorf("there are %d accounts, %v", len(accounts), err)
	}
	if _, err := w.signIn("\uff21nn@EXAMPLE.com", password, home); err != nil {
		t.Errorf("signing in with another spelling: %v", err)
	}
}

// Accounts that earlier versions have stored still sign in, and nobody else can sign up
// with their emails.
func TestSignIn_WithAnEmailThatIsNotInTheNormalForm(t *testing.T) {
	w := newTown(t, SignupOpen)
	for _, email := range []string{"j\u00fcrgen@ex\u00e4mple.com", "ann\u200b@example.com"} {
		a := &identity.Account{Owner: job.Owner{ID: uuid.New()}, Email: email, CreatedAt: w.Now()}
		if err := w.s.AccountInsert(t.Context(), a); err != nil {
			t.Fatal(err)
		}
		w.wantCode("setting the password", SetPassword(t.Context(), w.s, &identity.Person{ID: a.ID, Email: email}, password), 0)
		_, err := w.signIn(email, password, home)
		w.wantCode(email, err, 0)
		found, err := AccountByEmail(t.Context(), w.s, " "+email)
		if err != nil || found.Number != a.Number {
			t.Errorf("%q is the email of %+v, %v", email, found, err)
		}
		_, err = CreateAccount(t.Context(), w.s, email, w.Now())
		w.wantCode("another account", err, fault.Invalid)
	}
	if _, err := w.signUp("j\u00fcrgen@ex\u00e4mple.com"); err != nil {
		t.Errorf("signing up reveals that the email is taken: %v", err)
	}
	if _, err := w.s.AccountGet(t.Context(), "j\u00fcrgen@xn--exmple-cua.com"); fault.CodeOf(err) != fault.NotFound {
		t.Errorf("the email has a second account: %v", err)
	}
}
