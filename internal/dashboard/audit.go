package dashboard

import (
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/audit"
	"github.com/punctual-dev/punctual/internal/dashboard/ui"
	"github.com/punctual-dev/punctual/internal/dashboard/view"
	"github.com/punctual-dev/punctual/internal/identity"
	"github.com/punctual-dev/punctual/internal/job"
)

var auditRoutes = []route{
	{"/settings/audit", forAdmins, map[string]handler{"GET": (*Server).accountAudit}},
	{"/operator/audit", forOperators, map[string]handler{"GET": (*Server).serviceAudit}},
}

// auditsShown is how many entries a page of the audit log has.
const auditsShown = 50

func (s *Server) accountAudit(c *call) error {
	return s.showAudit(c, c.owner().Number, &view.AuditLog{
		Area: "settings", Title: "Audit log", About: "Sign-ins, people, changes of keys, secrets and passwords, edits of alerts and limits, and what an operator did.", Tabs: true,
	})
}

// serviceAudit shows the entries that belong to no account.
func (s *Server) serviceAudit(c *call) error {
	return s.showAudit(c, 0, &view.AuditLog{
		Area: "operator", Title: "Audit log of the service",
		About: "Actions of operators, deleted accounts, and failed sign-ins with unknown emails.",
		Back:  "/operator", BackTo: "Back to the operator's page",
	})
}

func (s *Server) showAudit(c *call, account int64, d *view.AuditLog) error {
	d.Event, d.Events, d.Path = c.param("event"), auditChoices, c.r.URL.Path
	if d.Event != "" && auditEvents[d.Event] == "" {
		d.Event, d.EventProblem = "", "must be one of those listed"
		return c.render(http.StatusUnprocessableEntity, view.AuditLogPage(d))
	}
	query := job.ListQuery{Limit: auditsShown}
	query.AfterID, _ = job.ParseID(c.param("after")) // anything else is the first page
	page, err := s.Audit.List(c.r.Context(), account, d.Event, query)
	if err != nil {
		return err
	}
	if page.Next != nil {
		d.Next = c.here("after", page.Next.AfterID.String())
	}
	if query.AfterID != uuid.Nil {
		d.First = c.here("after", "")
	}
	for _, e := range page.Items {
		d.Entries = append(d.Entries, view.AuditEntry{Event: auditEvent(e), Detail: e.Detail, Actor: auditActor(e), Address: e.Address,
			At: e.LastAt})
	}
	return c.render(http.StatusOK, view.AuditLogPage(d))
}

var auditEvents = map[string]string{
	audit.SignedIn: "Signed in", audit.SignInFailed: "Sign-in failed", audit.SignedOut: "Signed out", audit.SessionEnded: "Session ended",
	audit.IdentityAdded: "Sign-in provider connected", audit.IdentityRemoved: "Sign-in provider disconnected",
	audit.EmailConfirmed: "Email confirmed",
	audit.KeyCreated:     "Key created", audit.KeyRevoked: "Key revoked", audit.SecretRotated: "Signing secret rotated",
	audit.TokenKeysRotated:    "Token keys rotated",
	audit.HeaderSecretCreated: "Secret created", audit.HeaderSecretChanged: "Secret changed", audit.HeaderSecretDeleted: "Secret deleted",
	audit.PasswordChanged: "Password changed", audit.PasswordFailed: "Wrong password or code",
	audit.TOTPEnabled: "Second factor switched on", audit.TOTPDisabled: "Second factor switched off",
	audit.TOTPReset:          "Second factor reset",
	audit.SecretsReencrypted: "Secrets encrypted with another key", audit.IssuerRotated: "Key for tokens rotated",
	audit.OperationStarted: "Operation started", audit.OperationStopped: "Operation stopped",
	audit.RecoveryUsed: "Recovery code used", audit.RecoveryReplaced: "Recovery codes replaced",
	audit.AccountCreated: "Account created", audit.AccountDeleted: "Account deleted", audit.OperatorChanged: "Operator changed",
	audit.MemberInvited: "Person invited", audit.MemberJoined: "Person joined", audit.MemberChanged: "Role changed",
	audit.MemberRemoved: "Person removed", audit.MemberLeft: "Person left", audit.InvitationWithdrawn: "Invitation withdrawn",
	audit.InviteCreated: "Invite created", audit.AccountLimited: "Account limits changed", audit.AccountSuspended: "Account suspended",
	audit.AlertCreated: "Alert created", audit.AlertChanged: "Alert changed", audit.AlertDeleted: "Alert deleted",
	audit.GroupCreated: "Group created", audit.GroupChanged: "Group changed", audit.GroupDeleted: "Group deleted",
	audit.LimitCreated: "Limit created", audit.LimitChanged: "Limit changed", audit.LimitDeleted: "Limit deleted",
	audit.ScheduleDisabled: "Schedule disabled", audit.ScheduleEnabled: "Schedule enabled", audit.ScheduleDeleted: "Schedule deleted",
	audit.ScheduleMuted: "Schedule muted", audit.ScheduleUnmuted: "Schedule unmuted",
	audit.DocumentApplied: "Schedules applied from a file",
	audit.AccountResumed:  "Account resumed", audit.TargetBlocked: "Target blocked", audit.TargetUnblocked: "Target unblocked",
}

// auditChoices are the events to filter by, in alphabetical order.
var auditChoices = func() []ui.Choice {
	choices := make([]ui.Choice, 0, len(auditEvents)+1)
	for event, label := range auditEvents {
		choices = append(choices, ui.Choice{Value: event, Label: label})
	}
	slices.SortFunc(choices, func(a, b ui.Choice) int { return strings.Compare(a.Label, b.Label) })
	return slices.Insert(choices, 0, ui.Choice{Label: "All events"})
}()

// auditEvent describes what happened.
func auditEvent(a *identity.AuditEntry) string {
	word := auditEvents[a.Event]
	if word == "" {
		word = a.Event
	}
	if a.Count > 1 {
		word += ", " + strconv.FormatInt(a.Count, 10) + " times"
	}
	return word
}

// auditActor describes who did it.
func auditActor(a *identity.AuditEntry) string {
	who := map[string]string{
		audit.ByKey: "API key", audit.BySession: "Dashboard", audit.ByCommand: "Command line", audit.ByOperator: "Operator",
		audit.ByNobody: "Not signed in",
	}[a.ActorKind]
	if who == "" {
		who = a.ActorKind
	}
	if a.ActorName != "" {
		who += " " + a.ActorName
	}
	return who
}

// actor returns the viewer as an actor of the account's audit log.
func (c *call) actor() audit.Actor {
	if c.viewer != nil && c.viewer.public {
		return audit.Actor{Kind: audit.ByNobody, Address: c.address()}
	}
	return audit.Actor{Kind: audit.BySession, Name: c.visit.Person.Email, Address: c.address()}
}

// operatorActor returns the viewer as an actor of the service's audit log.
func (c *call) operatorActor() audit.Actor {
	return audit.Actor{Kind: audit.ByOperator, Name: c.visit.Person.Email, Address: c.address()}
}

// auditOperator records what an operator did to an account: in the account's log
// without the operator's name, in the service's log with name and address.
func (s *Server) auditOperator(c *call, a *identity.Account, event, detail string) {
	ctx := c.r.Context()
	s.Audit.Audit(ctx, audit.Entry{Account: a.Owner, Actor: audit.Actor{Kind: audit.ByOperator}, Event: event, Detail: detail})
	about := a.Email
	if detail != "" {
		about += ": " + detail
	}
	s.Audit.Audit(ctx, audit.Entry{Actor: c.operatorActor(), Event: event, Detail: about})
}
