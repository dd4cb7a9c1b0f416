package service

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/internal/alert"
	"github.com/punctual-dev/punctual/internal/alert/consent"
	"github.com/punctual-dev/punctual/internal/identity"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/store"
)

// failsAfterPut stores alerts, and fails at all else.
type failsAfterPut struct {
	AlertStore
	store.Recipients
	puts, changed int
}

var errDown = errors.New("the store is down")

func (f *failsAfterPut) Now() time.Time { return time.Unix(0, 0) }

func (f *failsAfterPut) AlertPut(context.Context, *store.Alert, store.PutIf) (bool, error) {
	f.puts++
	return true, nil
}

func (f *failsAfterPut) AlertDelete(context.Context, job.Owner, string) error { return nil }

func (f *failsAfterPut) RecipientChange(context.Context, int64, string, string, time.Time, store.RecipientDecide) error {
	return errDown
}

func (f *failsAfterPut) Refresh(context.Context) error { return errDown }

func (f *failsAfterPut) TakeMails(context.Context, int64, int) (int, error) { return 0, errDown }

func (f *failsAfterPut) Changed() { f.changed++ }

// TestAlerts_StoredIsSuccess: when what follows storing or deleting an alert fails, the
// call succeeds, and the watcher reads the alerts later.
func TestAlerts_StoredIsSuccess(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	f := &failsAfterPut{}
	gate := consent.New(consent.Config{
		Store: f, PublicURL: &url.URL{Scheme: "https", Host: "punctual.example.com"}, Log: slog.New(slog.NewTextHandler(&log, nil)),
		Account: func(context.Context, int64) (*identity.Account, error) {
			return &identity.Account{Origin: identity.OriginOpen}, nil
		},
		Mail: unusedMailer{},
	})
	s := NewAlerts(AlertsConfig{Store: f, Watcher: f, Consent: gate, Checks: alert.Checks{Mail: true}})
	body := rawjson.Value(`{"on":["failed"],"to":[{"email":"ann@example.net"}]}`)
	record, created, err := s.Put(t.Context(), job.Owner{Number: 1}, "ops", body, Match{})
	if err != nil || !created || record == nil || record.Name != "ops" {
		t.Errorf("Put: %+v, %t, %v", record, created, err)
	}
	if f.puts != 1 || f.changed != 1 || !strings.Contains(log.String(), errDown.Error()) {
		t.Errorf("%d puts, %d changes announced, log %q", f.puts, f.changed, log.String())
	}
	if err := s.Delete(t.Context(), job.Owner{Number: 1}, "ops"); err != nil || f.changed != 2 {
		t.Errorf("Delete: %v, %d changes announced", err, f.changed)
	}
}

type unusedMailer struct{ consent.Mailer }

func TestAlerts_BeginEnforcesLimitsPerAccountAndInAll(t *testing.T) {
	t.Parallel()
	s := NewAlerts(AlertsConfig{})
	begin := func(account int64, want bool) {
		t.Helper()
		if got := s.begin(account); got != want {
			t.Fatalf("a test of account %d may begin: %t, want %t; %d are under way", account, got, want, s.tests)
		}
	}
	var begun []int64
	for account := int64(1); len(begun) < maxTests; account++ {
		for range maxTestsOf {
			begin(account, true)
			begun = append(begun, account)
		}
		begin(account, false)
	}
	begin(1000, false)
	s.end(begun[0])
	begin(1000, true) // in place of the one that has ended
	begin(begun[0], false)
	for _, account := range append(begun[1:], 1000) {
		s.end(account)
	}
	if s.tests != 0 || len(s.testing) != 0 {
		t.Errorf("still counted: %d, %v", s.tests, s.testing)
	}
}
