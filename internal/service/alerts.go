package service

import (
	"context"
	"strconv"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/access"
	"github.com/punctual-dev/punctual/internal/alert"
	"github.com/punctual-dev/punctual/internal/alert/consent"
	"github.com/punctual-dev/punctual/internal/audit"
	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/notify"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/store"
)

// AlertStore is what Alerts needs of the store.
type AlertStore interface {
	Now() time.Time
	ScheduleGet(ctx context.Context, owner job.Owner, id uuid.UUID) (*job.Schedule, error)
	AlertPut(ctx context.Context, a *store.Alert, putIf store.PutIf) (created bool, err error)
	AlertGet(ctx context.Context, owner job.Owner, name string) (*store.Alert, error)
	AlertList(ctx context.Context, owner job.Owner) ([]*store.Alert, error)
	AlertStates(ctx context.Context, owner job.Owner, limit int) ([]store.AlertState, error)
	AlertDelete(ctx context.Context, owner job.Owner, name string) error
	AlertMessages(ctx context.Context, owner job.Owner, jobs []int64, limit int) (found []*job.Delivery, cut bool, err error)
}

// AlertWatcher tracks alerts; see package watch.
type AlertWatcher interface {
	Refresh(ctx context.Context) error
	Changed()
	TakeMails(ctx context.Context, account int64, n int) (taken int, err error)
}

// AlertSender makes one attempt at a delivery.
type AlertSender interface {
	SendNow(ctx context.Context, d *job.Delivery, within time.Duration) job.Outcome
}

// AlertsConfig configures Alerts.
type AlertsConfig struct {
	Store   AlertStore
	Watcher AlertWatcher
	Sender  AlertSender
	Checks  alert.Checks
	Consent *consent.Gate // nil if the service sends no e-mails
	Audit   *audit.Log    // nil records nothing
	// Retention is how long what alerts have sent is kept; 0: until others take its place.
	Retention time.Duration
}

const (
	// testWithin is how long a receiver may take to answer a test.
	testWithin = 10 * time.Second
	// maxTests is how many tests of all accounts are under way at once, maxTestsOf
	// those of one account. A stranger with several accounts must not keep the others
	// from testing.
	maxTests   = 128
	maxTestsOf = 8
)

// Alerts carries out clients' requests about alerts.
type Alerts struct {
	AlertsConfig
	mu      sync.Mutex
	testing map[int64]int // how many tests an account has under way
	tests   int           // the sum of testing
}

// NewAlerts returns an Alerts.
func NewAlerts(config AlertsConfig) *Alerts {
	return &Alerts{AlertsConfig: config, testing: map[int64]int{}}
}

// Alert is the record of an alert.
type Alert struct {
	Name       string
	Definition rawjson.Value // an object with all members, also those not given
	InsertedAt time.Time
	UpdatedAt  time.Time
}

func alertRecord(a *store.Alert) *Alert {
	return &Alert{Name: a.Name, Definition: a.Definition, InsertedAt: a.InsertedAt, UpdatedAt: a.UpdatedAt}
}

// Put creates an alert or replaces its definition. The condition is match.PutIf: alerts
// have no revisions.
func (s *Alerts) Put(ctx context.Context, owner job.Owner, name string, body rawjson.Value,
	match Match) (record *Alert, created bool, err error) {
	if err := access.Allow(ctx, "service.Alerts.Put"); err != nil {
		return nil, false, err
	}
	if !alert.IsName(name) {
		return nil, false, fault.Refuse([]fault.Problem{{Parameter: "name",
			Detail: "must be 1 to 64 characters: a letter or a digit, then these and : . _ -"}})
	}
	checks := s.Checks
	if s.Consent != nil {
		if checks.Address, err = s.Consent.Unaskable(ctx, owner.Number); err != nil {
			return nil, false, err
		}
	}
	draft, err := alert.Read(body, checks)
	if err != nil {
		return nil, false, err
	}
	if draft.Schedule != uuid.Nil {
		_, err := s.Store.ScheduleGet(ctx, owner, draft.Schedule)
		if fault.CodeOf(err) == fault.NotFound {
			return nil, false, fault.Refuse([]fault.Problem{{Pointer: "#/match/schedule_id",
				Detail: "must be the id of a schedule of this account"}})
		}
		if err != nil {
			return nil, false, err
		}
	}
	a := &store.Alert{Owner: owner, Name: name, Definition: draft.JSON, Match: draft.Match}
	if draft.Late {
		a.LateBy = draft.LateBy
	}
	if created, err = s.Store.AlertPut(ctx, a, match.PutIf()); err != nil {
		if fault.CodeOf(err) == fault.Invalid {
			err = fault.Refuse([]fault.Problem{{Pointer: "#", Detail: "can't be stored: " + err.Error()}})
		}
		return nil, false, err
	}
	event := audit.AlertChanged
	if created {
		event = audit.AlertCreated
	}
	s.Audit.Edited(ctx, owner, event, alertDetail(name, &draft.Definition))
	s.refresh(ctx)
	if err := s.ask(ctx, owner, draft.Mails(), false); err != nil {
		// The alert is stored. Its record shows who was not asked.
		s.Consent.Log.Warn("asking for confirmations of alerts by e-mail failed", "account", owner.ID, "error", err)
	}
	return alertRecord(a), created, nil
}

// refresh makes the watcher read what was stored: now, or as soon as the store can be
// read again.
func (s *Alerts) refresh(ctx context.Context) {
	if err := s.Watcher.Refresh(ctx); err != nil {
		s.Watcher.Changed()
	}
}

// ask asks addresses that must confirm, if they may be asked now.
func (s *Alerts) ask(ctx context.Context, owner job.Owner, addresses []string, byPerson bool) error {
	if s.Consent == nil || len(addresses) == 0 {
		return nil
	}
	return s.Consent.Ask(ctx, owner, addresses, byPerson)
}

// Recipients returns what is known of the addresses that the owner's alerts send
// e-mails to.
func (s *Alerts) Recipients(ctx context.Context, owner job.Owner) (func(address string) consent.State, error) {
	if s.Consent == nil {
		return func(string) consent.State { return consent.Confirmed }, nil
	}
	return s.Consent.States(ctx, owner.Number)
}

// Question returns the question to the owner of an address whose link has a token, or
// a NotFound fault.
func (s *Alerts) Question(ctx context.Context, token string) (*consent.Question, error) {
	if s.Consent == nil {
		return nil, fault.NoSuch("link")
	}
	return s.Consent.Question(ctx, token)
}

// Answer records what the owner of an address has chosen.
func (s *Alerts) Answer(ctx context.Context, token string, confirm bool) error {
	if s.Consent == nil {
		return fault.NoSuch("link")
	}
	return s.Consent.Answer(ctx, token, confirm)
}

// Get returns an alert, or a NotFound fault.
func (s *Alerts) Get(ctx context.Context, owner job.Owner, name string) (*Alert, error) {
	if !alert.IsName(name) {
		return nil, fault.NoSuch("alert")
	}
	a, err := s.Store.AlertGet(ctx, owner, name)
	if err != nil {
		return nil, err
	}
	return alertRecord(a), nil
}

// List returns the owner's alerts in order of their names, at most limit after
// the first offset, and whether there are more.
func (s *Alerts) List(ctx context.Context, owner job.Owner, limit, offset int) (found []*Alert, more bool, err error) {
	all, err := s.Store.AlertList(ctx, owner)
	if err != nil {
		return nil, false, err
	}
	all = all[min(offset, len(all)):]
	for _, a := range all[:min(limit, len(all))] {
		found = append(found, alertRecord(a))
	}
	return found, len(all) > limit, nil
}

// OpenAlert is a schedule, or all one-off jobs (uuid.Nil), whose failures an alert has
// reported and that has not completed a run since.
type OpenAlert struct {
	Name     string
	Schedule uuid.UUID
	Failures int // in a row
}

// Open returns what the owner's alerts have reported and what lasts, of the first
// limit states that they track.
func (s *Alerts) Open(ctx context.Context, owner job.Owner, limit int) (open []OpenAlert, err error) {
	states, err := s.Store.AlertStates(ctx, owner, limit)
	for _, state := range states {
		if failures, sent := alert.Reported(state.Data); sent {
			open = append(open, OpenAlert{Name: state.Alert, Schedule: state.Schedule, Failures: failures})
		}
	}
	return open, err
}

// Delete deletes an alert, or returns a NotFound fault. Its messages that are in
// the queue are still sent.
func (s *Alerts) Delete(ctx context.Context, owner job.Owner, name string) error {
	if err := access.Allow(ctx, "service.Alerts.Delete"); err != nil {
		return err
	}
	if !alert.IsName(name) {
		return fault.NoSuch("alert")
	}
	if err := s.Store.AlertDelete(ctx, owner, name); err != nil {
		return err
	}
	s.Audit.Edited(ctx, owner, audit.AlertDeleted, name)
	s.refresh(ctx)
	return nil
}

// AlertTest is what a receiver of an alert said to a test.
type AlertTest struct {
	Receiver alert.Receiver
	Outcome  job.Outcome
}

// Test sends a message to each receiver of an alert and returns what they said.
func (s *Alerts) Test(ctx context.Context, owner job.Owner, name string) ([]AlertTest, error) {
	if err := access.Allow(ctx, "service.Alerts.Test"); err != nil {
		return nil, err
	}
	a, err := s.Get(ctx, owner, name)
	if err != nil {
		return nil, err
	}
	hops := job.Hops(ctx)
	if hops >= job.MaxHops {
		return nil, fault.New(fault.Invalid, job.HopsField+" must be less than "+strconv.Itoa(job.MaxHops)+
			": jobs that send messages end there")
	}
	if !s.begin(owner.Number) {
		return nil, &fault.Error{Code: fault.TooMany, Message: "too many tests of alerts are under way; try again when they have ended",
			RetryAfter: time.Second}
	}
	defer s.end(owner.Number)
	d := alert.Parse(a.Definition)
	mails := d.Mails()
	if n := len(mails); n > 0 {
		taken, err := s.Watcher.TakeMails(ctx, owner.Number, n)
		if err != nil {
			return nil, err
		}
		if taken < n {
			return nil, &fault.Error{
				Code: fault.TooMany, RetryAfter: 10 * time.Minute,
				Message: "the account has sent its " + strconv.Itoa(notify.MaxMails) +
					" e-mails of this hour; nothing was sent, try again later",
			}
		}
	}
	if err := s.ask(ctx, owner, mails, true); err != nil {
		return nil, err
	}
	return s.send(ctx, owner, name, d.To, hops), nil
}

func (s *Alerts) begin(account int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.testing[account] >= maxTestsOf || s.tests >= maxTests {
		return false
	}
	s.testing[account]++
	s.tests++
	return true
}

func (s *Alerts) end(account int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tests--
	if s.testing[account]--; s.testing[account] == 0 {
		delete(s.testing, account)
	}
}

// send sends a test to all receivers at once.
func (s *Alerts) send(ctx context.Context, owner job.Owner, name string, to []alert.Receiver, hops int) []AlertTest {
	now := s.Store.Now()
	results := make([]AlertTest, len(to))
	var all sync.WaitGroup
	for i, r := range to {
		d := alert.Delivery(owner, r, &notify.Message{Type: notify.Test, At: now, Alert: name, Account: owner.ID}, now)
		d.Hops = hops
		all.Go(func() { results[i] = AlertTest{Receiver: r, Outcome: s.Sender.SendNow(ctx, &d, testWithin)} })
	}
	all.Wait()
	return results
}
