package auth

import (
	"log/slog"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/internal/fault"
)

func (w *town) setupCode() string {
	w.Helper()
	code, err := w.SetupCode(w.Context())
	if err != nil {
		w.Fatal(err)
	}
	return code
}

func (w *town) signUpWith(email, setup string) error {
	_, err := w.SignUp(w.Context(), SignUp{Email: email, Password: password, Setup: setup, Address: home})
	return err
}

func TestTheFirstNeedsTheSetupCode(t *testing.T) {
	for _, signup := range []Signup{SignupFirst, SignupOpen, SignupInvite} {
		t.Run("signup "+string(signup), func(t *testing.T) {
			w := newTown(t, signup)
			code := w.setupCode()
			if !regexp.MustCompile(`^([0-9A-HJKMNP-TV-Z]{4}-){3}[0-9A-HJKMNP-TV-Z]{4}$`).MatchString(code) {
				t.Fatalf("the code is %q", code)
			}
			if again := w.setupCode(); again != code {
				t.Errorf("the code has become %q", again)
			}
			invite, _, err := CreateInvite(t.Context(), w.s, w.Now())
			w.wantCode("an invite", err, 0)
			for _, wrong := range []string{"", "0000-0000-0000-0000", invite, code[:18]} {
				err := w.signUpWith("ann@example.com", wrong)
				w.wantCode("the code "+wrong, err, fault.Invalid)
				if problems := fault.ProblemsOf(err); len(problems) != 1 || problems[0].Pointer != "#/setup" {
					t.Errorf("the code %q: %v", wrong, err)
				}
			}
			// People type it as they like.
			w.wantCode("the code", w.signUpWith("ann@example.com", " "+strings.ToLower(strings.ReplaceAll(code, "-", " "))+" "), 0)
			a, err := w.s.AccountGet(t.Context(), "ann@example.com")
			if err != nil || !a.Operator {
				t.Errorf("the first is %+v, %v", a, err)
			}
			if w.setupCode() != "" {
				t.Error("there is a code still")
			}
		})
	}
}

func TestWrongSetupCodesAreThrottled(t *testing.T) {
	w := newTown(t, SignupFirst)
	for range 10 {
		w.wantCode("a wrong code", w.signUpWith("ann@example.com", "x"), fault.Invalid)
	}
	w.wantCode("the eleventh", w.signUpWith("ann@example.com", w.setupCode()), fault.TooMany)
	w.pass(time.Minute)
	w.wantCode("after a minute", w.signUpWith("ann@example.com", w.setupCode()), 0)
}

func TestEachNodesSetupCodeWorksOnEveryNode(t *testing.T) {
	w := newTown(t, SignupInvite)
	other := NewPeople(PeopleConfig{Store: w.s, Now: w.Now, Signup: SignupInvite, Pace: time.Millisecond,
		Log: slog.New(slog.DiscardHandler)})
	here := w.setupCode()
	there, err := other.SetupCode(t.Context())
	if err != nil || there == here {
		t.Fatalf("the other node's is %q, %v", there, err)
	}
	w.wantCode("the other node's", w.signUpWith("ann@example.com", there), 0)
	// The one that was not used is good for nothing any more, least of all as an invite.
	for _, code := range []string{here, "setup " + strings.ReplaceAll(here, "-", "")} {
		_, err = other.SignUp(t.Context(), SignUp{Email: "bob@example.com", Password: password, Setup: code, Invite: code, Address: home})
		w.wantCode("the one that is left", err, fault.Invalid)
	}
}

func TestSetupCode_IsReplacedWhenExpired(t *testing.T) {
	w := newTown(t, SignupFirst)
	old := w.setupCode()
	w.pass(setupLasts)
	code := w.setupCode()
	if code == old {
		t.Fatal("it is the old one")
	}
	w.wantCode("the old one", w.signUpWith("ann@example.com", old), fault.Invalid)
	w.wantCode("the new one", w.signUpWith("ann@example.com", code), 0)
}

func TestSetupCode_NoneWhenSignUpIsClosed(t *testing.T) {
	w := newTown(t, SignupClosed)
	if code := w.setupCode(); code != "" {
		t.Errorf("it is %q", code)
	}
}
