package cli

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"text/tabwriter"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/audit"
	"github.com/punctual-dev/punctual/internal/identity"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/store"
)

// record adds an entry to the audit log of an account, or of the service if there is
// no account. It reports only failures.
func (env *environment) record(s store.Store, account job.Owner, event, detail string) {
	failures := slog.New(slog.NewTextHandler(env.errOut, &slog.HandlerOptions{Level: slog.LevelError}))
	audit.New(s, s.Now, failures).Audit(env.ctx, audit.Entry{Account: account, Actor: audit.Actor{Kind: audit.ByCommand}, Event: event,
		Detail: detail})
}

type accountsAudit struct {
	recordsFlags
	Email string `arg:"" optional:"" help:"The account's email. Default: the log of the service, with deleted accounts and sign-ins with unknown emails."`
	Limit int    `default:"100" placeholder:"N" help:"Maximum number of entries to show, latest first."`
}

type auditView struct {
	ID         uuid.UUID `json:"id"`
	InsertedAt *string   `json:"inserted_at"`
	Event      string    `json:"event"`
	Actor      actorView `json:"actor"`
	Address    *string   `json:"address"`
	Detail     *string   `json:"detail"`
	Count      int64     `json:"count"`
	LastAt     *string   `json:"last_at"`
}

type actorView struct {
	Kind string  `json:"kind"`
	Name *string `json:"name"`
}

// Run shows an audit log.
func (c *accountsAudit) Run(env *environment) error {
	const most = identity.MaxAudits + identity.MaxAuditSlots + identity.MaxAuditEdits
	if c.Limit < 1 || c.Limit > most {
		return fmt.Errorf("--limit must be a whole number from 1 to %d", most)
	}
	show := func(ctx context.Context, s store.Store, a *identity.Account) error {
		entries, err := s.AuditList(ctx, a.Number, "", uuid.Nil, c.Limit)
		if err != nil {
			return err
		}
		views := []auditView{}
		for _, e := range entries {
			views = append(views, auditView{e.ID, viewTime(e.InsertedAt), e.Event, actorView{e.ActorKind, orNull(e.ActorName)},
				orNull(e.Address), orNull(e.Detail), e.Count, viewTime(e.LastAt)})
		}
		if c.JSON {
			return printJSON(env.out, views)
		}
		return printAudit(env.out, views)
	}
	if c.Email != "" {
		return c.withAccount(env, c.Email, show)
	}
	return c.withStore(env, func(ctx context.Context, s store.Store) error { return show(ctx, s, &identity.Account{}) })
}

// orNull returns a pointer to text, or nil for "".
func orNull(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

func printAudit(out io.Writer, entries []auditView) error {
	if len(entries) == 0 {
		_, err := fmt.Fprintln(out, "nothing has been recorded")
		return err
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, "TIME\tEVENT\tACTOR\tADDRESS\tCOUNT\tDETAIL")
	for _, e := range entries {
		actor := e.Actor.Kind
		if e.Actor.Name != nil {
			actor += " " + printable(*e.Actor.Name)
		}
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%d\t%s\n", orDash(e.LastAt), e.Event, actor, orDash(e.Address), e.Count, orDash(e.Detail))
	}
	return w.Flush()
}
