package app

import (
	"context"
	"strconv"
	"strings"

	"github.com/punctual-dev/punctual/internal/alert"
	"github.com/punctual-dev/punctual/internal/alert/consent"
	"github.com/punctual-dev/punctual/internal/alert/watch"
	"github.com/punctual-dev/punctual/internal/attempt"
	"github.com/punctual-dev/punctual/internal/auth"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/mailaddress"
	"github.com/punctual-dev/punctual/internal/notify/smtp"
	"github.com/punctual-dev/punctual/internal/service"
	"github.com/punctual-dev/punctual/internal/store"
)

// recordingStore is a store that records the outcomes of jobs for alerts.
type recordingStore struct {
	store.Store
	recorder *watch.Recorder
}

// QueueFinish implements store.Queue.
func (s recordingStore) QueueFinish(ctx context.Context, items []store.Finish) ([]bool, error) {
	return s.recorder.QueueFinish(ctx, items)
}

// JobChange implements store.Jobs.
func (s recordingStore) JobChange(ctx context.Context, owner job.Owner, id job.Ref, decide store.Decide) (*job.Job, error) {
	return s.recorder.JobChange(ctx, owner, id, decide)
}

// CompletionChange implements store.Completions.
func (s recordingStore) CompletionChange(ctx context.Context, c *job.Completion, decide store.Decide) (*job.Job, error) {
	return s.recorder.CompletionChange(ctx, c, decide)
}

// watchAlerts makes what tracks alerts, and the store that all others use.
func (n *Node) watchAlerts() {
	c := watch.Config{Store: n.database, Log: n.config.Log, Retention: n.config.Retention, HeldBack: func(item store.QueueKey) bool {
		_, held := store.OwnDue(item.Due)
		return held
	}}
	if u := n.config.PublicURL; u != nil {
		base := strings.TrimSuffix(u.String(), "/") + "/jobs/"
		c.Link = func(number int64) string { return base + strconv.FormatInt(number, 10) }
	}
	n.watcher = watch.New(c)
	n.store = recordingStore{n.database, &watch.Recorder{Watcher: n.watcher, Store: n.database}}
}

// newMail makes what sends e-mails; nothing if the service sends none.
func (n *Node) newMail() error {
	c := n.config
	if c.SMTP == nil || c.MailFrom == nil {
		return nil
	}
	client, err := smtp.New(smtp.Config{Server: c.SMTP, From: c.MailFrom, RootCAs: n.roots, Log: c.Log})
	if err != nil {
		return err
	}
	n.consent = consent.New(consent.Config{
		Store: n.store, Account: n.auth.Account, Mail: client, Open: c.Signup == auth.SignupOpen, Trusted: c.MailTrusted,
		PublicURL: c.PublicURL, Log: c.Log,
	})
	return nil
}

// mailer returns what sends e-mails of alerts; nil if the service sends none.
func (n *Node) mailer() attempt.Mailer {
	if n.consent == nil {
		return nil
	}
	return n.consent
}

// mailInvitation returns what sends invitations to accounts; nil if the service sends no
// e-mails.
func (n *Node) mailInvitation() func(context.Context, job.Owner, mailaddress.Address, string) {
	if n.consent == nil {
		return nil
	}
	return n.consent.Invite
}

// mailLink returns what sends links to people; nil if the service sends no e-mails.
func (n *Node) mailLink() auth.MailLink {
	if n.consent == nil {
		return nil
	}
	return n.consent.Link
}

// newAlerts makes what serves clients' calls about alerts.
func (n *Node) newAlerts() *service.Alerts {
	return service.NewAlerts(service.AlertsConfig{
		Store: n.store, Watcher: n.watcher, Sender: n.runner,
		Checks: alert.Checks{Targets: job.ReadOptions{CheckHost: n.targets.CheckHost, AllowHTTP: n.targets.AllowHTTP},
			Mail: n.consent != nil}, Consent: n.consent, Audit: n.audit, Retention: n.config.Retention,
	})
}
