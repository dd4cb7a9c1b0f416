package consent

import (
	"context"
	"fmt"
	"log/slog"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/identity"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/notify"
	"github.com/punctual-dev/punctual/test/sqlitetest"
)

// office is a Gate on a real store, with a clock that tests move and a mail server
// that keeps what it is sent. Its accounts are strangers'.
type office struct {
	*testing.T
	*Gate
	mu      sync.Mutex
	now     time.Time
	failure *job.Failure // of the mail server
	sent    []sentLetter
	origin  map[int64]identity.Origin // OriginOpen unless given
	deleted map[int64]bool            // accounts
}

type sentLetter struct {
	to   string
	text string
}

func newOffice(t *testing.T) *office {
	t.Helper()
	o := &office{T: t, now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), origin: map[int64]identity.Origin{}, deleted: map[int64]bool{}}
	s := sqlitetest.Open(t, o.clock)
	o.Gate = New(Config{
		Store: s, Account: o.account, Mail: o, Open: true, Trusted: []string{"trusted.example"},
		PublicURL: &url.URL{Scheme: "https", Host: "punctual.example.com"}, Log: slog.New(slog.DiscardHandler),
	})
	return o
}

func (o *office) clock() time.Time {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.now
}

func (o *office) pass(d time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.now = o.now.Add(d)
}

func (o *office) account(_ context.Context, number int64) (*identity.Account, error) {
	a := &identity.Account{Owner: job.Owner{Number: number}, Email: fmt.Sprintf("account%d@example.com", number),
		Origin: identity.OriginOpen}
	if origin, ok := o.origin[number]; ok {
		a.Origin = origin
	}
	if o.deleted[number] {
		a.DeletedAt = o.now
	}
	return a, nil
}

// Send implements Mailer.
func (o *office) Send(_ context.Context, to, _ string, letter notify.Letter) job.Outcome {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.failure != nil {
		return job.Outcome{Failure: o.failure}
	}
	o.sent = append(o.sent, sentLetter{to, letter.Text})
	return job.Outcome{Response: &job.Response{Status: 250}}
}

// asks asks addresses and returns those that got a question.
func (o *office) asks(account int64, byPerson bool, addresses ...string) string {
	o.Helper()
	before := len(o.sent)
	if err := o.Ask(o.Context(), job.Owner{Number: account}, addresses, byPerson); err != nil {
		o.Fatal(err)
	}
	got := map[string]bool{}
	for _, l := range o.sent[before:] {
		got[l.to] = true
	}
	var all []string
	for _, a := range addresses {
		if got[a] {
			all = append(all, a)
		}
	}
	if len(all) != len(o.sent)-before {
		o.Fatalf("asked %v of %v", o.sent[before:], addresses)
	}
	return strings.Join(all, " ")
}

func (o *office) wantAsked(what, got, want string) {
	o.Helper()
	if got != want {
		o.Errorf("%s: asked %q, want %q", what, got, want)
	}
}

var tokenInText = regexp.MustCompile(`https://punctual\.example\.com` + Path + `([\w-]{43})\n`)

// token returns the token of the link in the latest question.
func (o *office) token() string {
	o.Helper()
	found := tokenInText.FindStringSubmatch(o.sent[len(o.sent)-1].text)
	if found == nil {
		o.Fatalf("no link in %q", o.sent[len(o.sent)-1].text)
	}
	return found[1]
}

// gets sends an e-mail of an alert and returns why it was not sent; "" if it was.
func (o *office) gets(account int64, address string) string {
	o.Helper()
	outcome := o.Gate.Send(o.Context(), job.Owner{Number: account}, address, "id", notify.Letter{Text: "failed"})
	if outcome.Failure == nil {
		return ""
	}
	if outcome.Failure.Kind != job.KindBlocked || !outcome.Failure.Final {
		o.Errorf("an e-mail that may not be sent is kept: %+v", outcome.Failure)
	}
	return outcome.Failure.Message
}

func (o *office) wantRefusal(account int64, address, want string) {
	o.Helper()
	if got := o.gets(account, address); (want == "") != (got == "") || !strings.Contains(got, want) {
		o.Errorf("an e-mail of account %d to %s: %q, want %q", account, address, got, want)
	}
}

func TestAsk_MailboxOnceADayByAllAccounts(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.wantAsked("at first", o.asks(1, false, "ann@example.net"), "ann@example.net")
	o.wantAsked("by another account, with a tag", o.asks(2, true, "ann+x@example.net"), "")
	o.wantAsked("by the same account, with another tag", o.asks(1, true, "ann+y@example.net"), "")
	o.wantRefusal(2, "ann+x@example.net", "was not asked")
	o.pass(askEvery - time.Millisecond)
	o.wantAsked("just before a day has passed", o.asks(2, true, "ann+x@example.net"), "")
	o.pass(time.Millisecond)
	o.wantAsked("a day later", o.asks(2, true, "ann+x@example.net"), "ann+x@example.net")
	o.wantAsked("on the day of that question", o.asks(1, true, "ann@example.net"), "")
}

func TestAsk_FiveAddressesADayByAnAccount(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.wantAsked("eight at once", o.asks(1, true, strings.Fields(
		"a@x.example b@x.example c@x.example d@x.example e@x.example f@x.example g@x.example h@x.example")...),
		"a@x.example b@x.example c@x.example d@x.example e@x.example")
	o.wantAsked("another account", o.asks(2, true, "f@x.example"), "f@x.example")
	o.pass(askEvery / 2)
	o.wantAsked("half a day later", o.asks(1, true, "g@x.example"), "")
	o.pass(askEvery / 2)
	o.wantAsked("a day later", o.asks(1, true, "g@x.example"), "g@x.example")
}

func TestAsk_AtOnceAsksNoMoreThanMay(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	var calls sync.WaitGroup
	for i := range 4 * MaxAsked {
		calls.Go(func() {
			for _, address := range []string{"ann@example.net", fmt.Sprintf("b%d@example.net", i)} {
				if err := o.Ask(o.Context(), job.Owner{Number: 1}, []string{address}, true); err != nil {
					o.Error(err)
				}
			}
		})
	}
	calls.Wait()
	anns := 0
	for _, l := range o.sent {
		if l.to == "ann@example.net" {
			anns++
		}
	}
	if len(o.sent) != MaxAsked || anns > 1 {
		t.Errorf("%d questions were sent, %d of them to one address", len(o.sent), anns)
	}
}

func TestAsk_AgainByAPersonOnly(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.wantAsked("at first", o.asks(1, false, "ann@example.net"), "ann@example.net")
	first := o.token()
	o.pass(2 * askEvery)
	o.wantAsked("by a program that stores the alert", o.asks(1, false, "ann@example.net"), "")
	o.wantAsked("by a person", o.asks(1, true, "ann@example.net"), "ann@example.net")
	if _, err := o.Question(t.Context(), first); fault.CodeOf(err) != fault.NotFound {
		t.Errorf("the link of the earlier question: %v", err)
	}
	o.pass(7 * askEvery)
	if _, err := o.Question(t.Context(), o.token()); fault.CodeOf(err) != fault.NotFound {
		t.Errorf("the link after 7 days: %v", err)
	}
	o.wantAsked("by a program, after that", o.asks(1, false, "ann@example.net"), "ann@example.net")
}

func TestAsk_NobodyWhoNeedNotConfirm(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.origin[2], o.origin[3] = identity.OriginKnown, identity.OriginUnknown
	o.wantAsked("of a trusted domain", o.asks(1, true, "ann@trusted.example"), "")
	o.wantAsked("by the operator's account", o.asks(2, true, "ann@example.net"), "")
	o.wantAsked("no address", o.asks(1, true, "ann"), "")
	o.wantAsked("in no domain of the Internet", o.asks(1, true, "ann@localhost", "ann@192.0.2.1"), "")
	o.wantAsked("an address that not every mail server takes", o.asks(1, true, "jürgen@example.net"), "")
	o.wantRefusal(1, "ann@trusted.example", "")
	o.wantRefusal(2, "ann@example.net", "")
	o.wantRefusal(3, "ann@example.net", "was not asked")
	o.Open = false
	o.wantRefusal(3, "ann@example.net", "")
	o.wantRefusal(1, "ann@example.net", "was not asked")
	o.wantRefusal(2, "root@localhost", "can't be sent")
}

func TestAsk_UnreachableMailServerCountsAsNotAsked(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.failure = &job.Failure{Kind: job.KindConnect, Message: "refused", Unsent: true}
	o.wantAsked("without a mail server", o.asks(1, true, "ann@example.net"), "")
	o.failure = &job.Failure{Kind: job.KindTimeout, Message: "busy", Unsent: true}
	o.wantAsked("while it is busy", o.asks(1, true, "ann@example.net"), "")
	o.failure = nil
	o.wantAsked("with one", o.asks(1, true, "ann@example.net"), "ann@example.net")
	// A server that refuses the address has been asked about it: that counts.
	o.failure = &job.Failure{Kind: job.KindStatus, Message: "550"}
	o.wantAsked("refused by the mail server", o.asks(1, true, "bob@example.net"), "")
	o.failure = nil
	o.wantAsked("after that", o.asks(1, true, "bob@example.net"), "")
}

func TestAnswer_DecidesWhatIsSent(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.asks(1, true, "ann@example.net")
	token := o.token()
	o.wantRefusal(1, "ann@example.net", "has not confirmed yet")
	answer := func(confirm bool) {
		t.Helper()
		if err := o.Answer(t.Context(), token, confirm); err != nil {
			t.Fatal(err)
		}
	}
	wantState := func(account int64, address string, want State) {
		t.Helper()
		states, err := o.States(t.Context(), account)
		if err != nil {
			t.Fatal(err)
		}
		if got := states(address); got != want {
			t.Errorf("the state of %s for account %d is %d, want %d", address, account, got, want)
		}
	}
	wantState(1, "Ann@example.net", Waiting)
	wantState(1, "bob@example.net", Unasked)
	answer(true)
	wantState(1, "ann@example.net", Confirmed)
	o.wantRefusal(1, "ann@example.net", "")
	if last := o.sent[len(o.sent)-1].text; !strings.Contains(last, "ends these e-mails") {
		t.Errorf("the e-mail does not say how it ends: %q", last)
	}
	o.wantRefusal(1, "ann+x@example.net", "was not asked")
	o.wantRefusal(2, "ann@example.net", "was not asked")
	if q, err := o.Question(t.Context(), token); err != nil || q.State != Confirmed || q.Asker != "account1@example.com" ||
		q.Address != "ann@example.net" {
		t.Errorf("the question is %+v, %v", q, err)
	}
	o.pass(30 * askEvery)
	o.wantAsked("who has confirmed", o.asks(1, true, "ann@example.net"), "")

	// A refusal ends the e-mails of every account, and the questions.
	o.origin[2] = identity.OriginKnown
	answer(false)
	wantState(1, "ann@example.net", Refused)
	for _, account := range []int64{1, 2} {
		o.wantRefusal(account, "ann@example.net", "refused")
	}
	o.wantRefusal(2, "ann+x@example.net", "refused")
	o.wantAsked("who has refused", o.asks(3, true, "ann@example.net"), "")
	answer(true)
	o.wantRefusal(1, "ann@example.net", "")
	o.wantRefusal(2, "ann+x@example.net", "")
}

// TestAnswer_AfterTheAccountWasDeleted: nothing can be confirmed that would be stored for
// ever, and a refusal holds.
func TestAnswer_AfterTheAccountWasDeleted(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.asks(1, true, "ann@example.net")
	token := o.token()
	o.deleted[1] = true
	if err := o.Answer(t.Context(), token, true); fault.CodeOf(err) != fault.NotFound {
		t.Errorf("confirming: %v", err)
	}
	if q, err := o.Question(t.Context(), token); err != nil || q.State != Waiting || q.Asker != "(deleted)" {
		t.Errorf("the question is %+v, %v", q, err)
	}
	if err := o.Answer(t.Context(), token, false); err != nil {
		t.Fatal(err)
	}
	o.wantRefusal(1, "ann@example.net", "was deleted")
	o.origin[2] = identity.OriginKnown
	o.wantRefusal(2, "ann@example.net", "refused")
	if err := o.Answer(t.Context(), token, true); fault.CodeOf(err) != fault.NotFound {
		t.Errorf("confirming after a refusal: %v", err)
	}
	o.wantRefusal(2, "ann@example.net", "refused")
}
