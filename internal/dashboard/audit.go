package dashboard

import (
	"net/http"
	"strconv"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/audit"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/store"
)

var auditRoutes = []route{
	{"/settings/audit", forOwners, map[string]handler{"GET": (*Server).accountAudit}},
	{"/operator/audit", forOperators, map[string]handler{"GET": (*Server).serviceAudit}},
}

// auditsShown is how many entries a page of the audit log has.
const auditsShown = 50

// auditLog is what a page of the audit log shows.
type auditLog struct {
	area, title, about string
	back, backTo       string // where the page leads back to
	entries            []*store.Audit
	first, next        string
}

func (s *Server) accountAudit(c *call) error {
	return s.showAudit(c, c.owner().Number, &auditLog{
		area: "settings", title: "Audit log", about: "Sign-ins, and what changed who may do what in your account.", back: "/settings", backTo: "To the settings",
	})
}

// serviceAudit shows the entries that concern no account.
func (s *Server) serviceAudit(c *call) error {
	return s.showAudit(c, 0, &auditLog{
		area: "operator", title: "Audit log of the service", about: "Acts of operators, deleted accounts, and sign-ins with emails that nobody has.",
		back: "/operator", backTo: "To the operator's page",
	})
}

func (s *Server) showAudit(c *call, account int64, d *auditLog) error {
	after, ok := job.ParseID(c.param("after"))
	if !ok {
		after = uuid.Nil // anything else is the beginning
	}
	entries, err := s.Store.AuditList(c.r.Context(), account, "", after, auditsShown+1)
	if err != nil {
		return err
	}
	if len(entries) > auditsShown {
		entries = entries[:auditsShown]
		d.next = c.here("after", entries[auditsShown-1].ID.String())
	}
	if after != uuid.Nil {
		d.first = c.here("after", "")
	}
	d.entries = entries
	return c.render(http.StatusOK, auditPage(d))
}

var auditWords = map[string]string{
	audit.SignedIn: "Signed in", audit.SignInFailed: "Sign-in failed", audit.SignedOut: "Signed out", audit.SessionEnded: "Session ended",
	audit.KeyCreated: "Key created", audit.KeyRevoked: "Key revoked", audit.SecretRotated: "Signing secret rotated",
	audit.PasswordChanged: "Password changed", audit.PasswordFailed: "Wrong password or code",
	audit.TOTPEnabled: "Second factor switched on", audit.TOTPDisabled: "Second factor switched off", audit.TOTPReset: "Second factor reset",
	audit.RecoveryUsed: "Recovery code used", audit.RecoveryReplaced: "Recovery codes replaced",
	audit.AccountCreated: "Account created", audit.AccountDeleted: "Account deleted", audit.OperatorChanged: "Operator changed",
	audit.InviteCreated: "Invite created", audit.AccountLimited: "Limits changed", audit.AccountSuspended: "Account suspended",
	audit.AccountResumed: "Account resumed", audit.TargetBlocked: "Target blocked", audit.TargetUnblocked: "Target unblocked",
}

// auditWord says what happened.
func auditWord(a *store.Audit) string {
	word := auditWords[a.Event]
	if word == "" {
		word = a.Event
	}
	if a.Count > 1 {
		word += ", " + strconv.FormatInt(a.Count, 10) + " times"
	}
	return word
}

// auditActor says who did it.
func auditActor(a *store.Audit) string {
	who := map[string]string{
		audit.ByKey: "API key", audit.BySession: "Dashboard", audit.ByCommand: "Command line", audit.ByOperator: "Operator", audit.ByNobody: "Not signed in",
	}[a.ActorKind]
	if who == "" {
		who = a.ActorKind
	}
	if a.ActorName != "" {
		who += " " + a.ActorName
	}
	return who
}

// actor is the viewer as the audit log names them.
func (c *call) actor() audit.Actor {
	return audit.Actor{Kind: audit.BySession, Address: c.address()}
}

// operatorActor is the viewer, an operator, as the audit log of the service names them.
func (c *call) operatorActor() audit.Actor {
	return audit.Actor{Kind: audit.ByOperator, Name: c.viewer().Account.Email, Address: c.address()}
}

// auditOperator records what an operator did to an account: for its owner without
// saying which operator, for the service with their name and address.
func (s *Server) auditOperator(c *call, a *store.Account, event, detail string) {
	ctx := c.r.Context()
	s.Audit.Audit(ctx, audit.Entry{Account: a.Owner, Actor: audit.Actor{Kind: audit.ByOperator}, Event: event, Detail: detail})
	about := a.Email
	if detail != "" {
		about += ": " + detail
	}
	s.Audit.Audit(ctx, audit.Entry{Actor: c.operatorActor(), Event: event, Detail: about})
}
