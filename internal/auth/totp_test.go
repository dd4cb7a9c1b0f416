package auth

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/identity"
)

// TestCodesOfTheRFC checks the codes of RFC 6238, appendix B, of which six of the
// eight digits are used here.
func TestCodesOfTheRFC(t *testing.T) {
	t.Parallel()
	secret := []byte("12345678901234567890")
	for unix, want := range map[int64]string{
		59: "287082", 1111111109: "081804", 1111111111: "050471", 1234567890: "005924", 2000000000: "279037", 20000000000: "353130",
	} {
		if got := totpCode(secret, unix/30); got != want {
			t.Errorf("the code at %d is %s, want %s", unix, got, want)
		}
	}
}

func TestWhichCodesAreAccepted(t *testing.T) {
	t.Parallel()
	v := &identity.TOTP{Secret: []byte("12345678901234567890")}
	now := time.Unix(1111111111, 0) // step 37037037
	for _, c := range []struct {
		code string
		last int64
		step int64
	}{
		{"050471", 0, 37037037},
		{"081804", 0, 37037036}, // the step before
		{totpCode(v.Secret, 37037038), 0, 37037038},
		{totpCode(v.Secret, 37037039), 0, 0},
		{totpCode(v.Secret, 37037035), 0, 0},
		{"050471", 37037037, 0}, // used
		{"081804", 37037037, 0}, // before one that was used
		{"050472", 0, 0}, {"", 0, 0}, {"50471", 0, 0}, {"0504710", 0, 0},
	} {
		v.LastStep = c.last
		step, ok := totpStepOf(v, c.code, now)
		if step != c.step || ok != (c.step != 0) {
			t.Errorf("%q after step %d: step %d, %v; want %d", c.code, c.last, step, ok, c.step)
		}
	}
}

func TestTheAddressForApps(t *testing.T) {
	t.Parallel()
	v := &identity.TOTP{Secret: []byte("12345678901234567890")}
	if got, want := TOTPAddress(v, "a+b c@example.com"),
		"otpauth://totp/punctual:a+b%20c@example.com?secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ&issuer=punctual"; got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	if got, want := TOTPText(v), "GEZD GNBV GY3T QOJQ GEZD GNBV GY3T QOJQ"; got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}

// enrolled gives the first account, its session and recovery codes, with a second
// factor that is switched on.
func (w *town) enrolled(email string) (a *Visit, here *identity.Session, codes []string) {
	w.Helper()
	a, here, _ = w.citizen(email)
	w.wantCode("preparing", w.StartTOTP(w.Context(), a.Person, password, home), 0)
	a = w.again(a)
	codes, err := w.ConfirmTOTP(w.Context(), a.Person, here, w.code(a.Person), home)
	w.wantCode("confirming", err, 0)
	return w.again(a), here, codes
}

func (w *town) again(a *Visit) *Visit {
	w.Helper()
	again := *a
	var err error
	if again.Account, err = w.s.AccountOf(w.Context(), a.Account.Number); err != nil {
		w.Fatal(err)
	}
	if again.Person, err = w.s.PersonOf(w.Context(), a.Person.ID); err != nil && fault.CodeOf(err) != fault.NotFound {
		w.Fatal(err)
	}
	return &again
}

// code returns the code that an app shows now.
func (w *town) code(a *identity.Person) string { return totpCode(a.TOTP.Secret, w.clock().Unix()/30) }

func TestEnrolling(t *testing.T) {
	w := newTown(t, SignupFirst)
	a, here, _ := w.citizen("ann@example.com")
	other, err := w.signIn(a.Person.Email, password, home)
	w.wantCode("another session", err, 0)
	w.wantCode("a wrong password", w.StartTOTP(t.Context(), a.Person, "wrong", home), fault.Invalid)
	if w.again(a).Person.TOTP != nil {
		t.Error("there is a second factor")
	}
	_, err = w.ConfirmTOTP(t.Context(), a.Person, here, "123456", home)
	w.wantCode("confirming nothing", err, fault.Invalid)
	w.wantCode("preparing", w.StartTOTP(t.Context(), a.Person, password, home), 0)
	a = w.again(a)
	if HasTOTP(a.Person) || !Enrolling(a.Person, w.Now()) || len(a.Person.TOTP.Secret) != 20 {
		t.Errorf("while enrolling: %+v", a.Person.TOTP)
	}
	_, err = w.signIn(a.Person.Email, password, home) // no code is asked for yet
	w.wantCode("signing in meanwhile", err, 0)
	_, err = w.ConfirmTOTP(t.Context(), a.Person, here, "000000", home)
	w.wantCode("a wrong code", err, fault.Invalid)
	codes, err := w.ConfirmTOTP(t.Context(), a.Person, here, " "+w.code(a.Person)[:3]+" "+w.code(a.Person)[3:], home)
	w.wantCode("confirming", err, 0)
	if slices.Sort(codes); len(slices.Compact(codes)) != 10 || len(codes[0]) != 19 {
		t.Errorf("the recovery codes are %q", codes)
	}
	if a = w.again(a); !HasTOTP(a.Person) || len(a.Person.TOTP.Recovery) != 10 {
		t.Errorf("then it is %+v", a.Person.TOTP)
	}
	_, err = w.Session(t.Context(), other)
	w.wantCode("another session", err, fault.Unauthorized)
	w.wantCode("preparing again", w.StartTOTP(t.Context(), a.Person, password, home), fault.Invalid)
	_, err = w.ConfirmTOTP(t.Context(), a.Person, here, w.code(a.Person), home)
	w.wantCode("confirming again", err, fault.Invalid)
}

func TestAnOldSecretIsNotConfirmed(t *testing.T) {
	w := newTown(t, SignupFirst)
	a, here, _ := w.citizen("ann@example.com")
	w.wantCode("preparing", w.StartTOTP(t.Context(), a.Person, password, home), 0)
	w.pass(time.Hour)
	a = w.again(a)
	_, err := w.ConfirmTOTP(t.Context(), a.Person, here, w.code(a.Person), home)
	w.wantCode("confirming", err, fault.Invalid)
	if Enrolling(a.Person, w.Now()) {
		t.Error("the old secret is still shown")
	}
}

// pending returns the token of a sign-in that waits for its code.
func (w *town) pending(a *Visit) string {
	w.Helper()
	in, err := w.SignIn(w.Context(), a.Person.Email, password, Client{Address: home})
	if err != nil || !in.NeedsCode || in.Token == "" {
		w.Fatalf("signing in: %+v, %v", in, err)
	}
	if _, err := w.Session(w.Context(), in.Token); fault.CodeOf(err) != fault.Unauthorized {
		w.Errorf("a sign-in without its code is a session: %v", err)
	}
	return in.Token
}

func (w *town) giveCode(token, code string) (string, error) {
	return w.GiveCode(w.Context(), token, code, Client{Address: home})
}

func TestSignIn_RequiresACodeThatWorksOnce(t *testing.T) {
	w := newTown(t, SignupFirst)
	a, _, codes := w.enrolled("ann@example.com")
	token := w.pending(a)
	_, err := w.giveCode(token, w.code(a.Person))
	w.wantCode("the code that confirmed it", err, fault.Unauthorized)
	w.pass(30 * time.Second)
	code := w.code(a.Person)
	session, err := w.giveCode(token, code)
	w.wantCode("the next code", err, 0)
	_, err = w.Session(t.Context(), session)
	w.wantCode("the session", err, 0)
	_, err = w.giveCode(token, code)
	w.wantCode("the used sign-in", err, fault.NotFound)
	token = w.pending(a)
	_, err = w.giveCode(token, code)
	w.wantCode("the used code", err, fault.Unauthorized)
	_, err = w.giveCode(session, code)
	w.wantCode("a session's token", err, fault.NotFound)

	_, err = w.giveCode(token, strings.ToUpper(strings.ReplaceAll(codes[3], "-", " ")))
	w.wantCode("a recovery code", err, 0)
	_, err = w.giveCode(w.pending(a), codes[3])
	w.wantCode("the used recovery code", err, fault.Unauthorized)
	if n := len(w.again(a).Person.TOTP.Recovery); n != 9 {
		t.Errorf("%d recovery codes are left", n)
	}
	token = w.pending(a)
	w.pass(10 * time.Minute)
	_, err = w.giveCode(token, w.code(a.Person))
	w.wantCode("after ten minutes", err, fault.NotFound)
}

func TestCodesAreThrottledWhateverThePasswordResets(t *testing.T) {
	w := newTown(t, SignupFirst)
	a, _, codes := w.enrolled("ann@example.com")
	w.pass(time.Hour)
	for range 5 {
		_, err := w.giveCode(w.pending(a), "000000")
		w.wantCode("a wrong code", err, fault.Unauthorized)
	}
	token := w.pending(a)
	_, err := w.giveCode(token, "000000")
	w.wantCode("one too many", err, fault.TooMany)
	_, err = w.giveCode(token, codes[0])
	w.wantCode("a recovery code after too many", err, fault.TooMany)
	w.pass(time.Minute)
	_, err = w.giveCode(token, codes[0])
	w.wantCode("after a minute", err, 0)
	// From many networks, each of which may try.
	w.pass(24 * time.Hour)
	refused := 0
	for i := range 30 {
		token := w.pending(a)
		_, err := w.GiveCode(t.Context(), token, "000000", Client{Address: fmt.Sprintf("198.51.100.%d", i)})
		if fault.CodeOf(err) == fault.TooMany {
			refused++
		}
		w.pass(5 * time.Second) // the password's own limit is not what this is about
	}
	if refused < 8 {
		t.Errorf("%d of 30 codes from 30 networks were refused", refused)
	}
	// They don't hold off where a code was right.
	_, err = w.giveCode(w.pending(a), codes[1])
	w.wantCode("from home", err, 0)
}

func TestSwitchingItOffTakesThePasswordAndACode(t *testing.T) {
	w := newTown(t, SignupFirst)
	a, _, codes := w.enrolled("ann@example.com")
	w.wantCode("a wrong password", w.DisableTOTP(t.Context(), a.Person, "wrong", codes[0], home), fault.Invalid)
	w.wantCode("a wrong code", w.DisableTOTP(t.Context(), a.Person, password, "000000", home), fault.Invalid)
	if !HasTOTP(w.again(a).Person) {
		t.Error("it is off")
	}
	w.wantCode("switching it off", w.DisableTOTP(t.Context(), a.Person, password, codes[0], home), 0)
	a = w.again(a)
	if a.Person.TOTP != nil {
		t.Errorf("left is %+v", a.Person.TOTP)
	}
	_, err := w.signIn(a.Person.Email, password, home)
	w.wantCode("signing in", err, 0)
	w.wantCode("switching it off again", w.DisableTOTP(t.Context(), a.Person, password, codes[1], home), fault.Invalid)
}

func TestDelete_TakesThePasswordAndACode(t *testing.T) {
	w := newTown(t, SignupFirst)
	a, _, codes := w.enrolled("ann@example.com")
	before := *a
	person := *a.Person
	before.Person, person.TOTP = &person, nil // a session may know the account from before
	w.wantCode("without a code", w.Delete(t.Context(), &before, password, "", home), fault.Invalid)
	w.wantCode("a wrong code", w.Delete(t.Context(), a, password, "000000", home), fault.Invalid)
	w.wantCode("a wrong password", w.Delete(t.Context(), a, "wrong", codes[0], home), fault.Invalid)
	if again := w.again(a); !again.Account.DeletedAt.IsZero() || len(again.Person.TOTP.Recovery) != len(codes) {
		t.Errorf("the account is %+v", again)
	}
	w.wantCode("both", w.Delete(t.Context(), &before, password, codes[0], home), 0)
	if again := w.again(a); again.Account.DeletedAt.IsZero() {
		t.Error("the account is not deleted")
	}
}

func TestRecoveryCodesAreReplaced(t *testing.T) {
	w := newTown(t, SignupFirst)
	a, _, old := w.enrolled("ann@example.com")
	_, err := w.ReplaceRecovery(t.Context(), a.Person, "000000", home)
	w.wantCode("a wrong code", err, fault.Invalid)
	codes, err := w.ReplaceRecovery(t.Context(), a.Person, old[0], home)
	if err != nil || len(codes) != 10 {
		t.Fatalf("%d codes, %v", len(codes), err)
	}
	_, err = w.giveCode(w.pending(a), old[1])
	w.wantCode("an old one", err, fault.Unauthorized)
	_, err = w.giveCode(w.pending(a), codes[0])
	w.wantCode("a new one", err, 0)
}

func TestResetTOTP_AllowsSigningInWithThePasswordAlone(t *testing.T) {
	w := newTown(t, SignupFirst)
	a, _, _ := w.enrolled("ann@example.com")
	token := w.pending(a)
	w.wantCode("resetting", ResetTOTP(t.Context(), w.s, a.Person), 0)
	w.wantCode("resetting again", ResetTOTP(t.Context(), w.s, a.Person), fault.Invalid)
	_, err := w.giveCode(token, "anything")
	w.wantCode("a sign-in under way", err, 0)
	_, err = w.signIn(a.Person.Email, password, home)
	w.wantCode("signing in", err, 0)
}
