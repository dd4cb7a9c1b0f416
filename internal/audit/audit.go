package audit

import (
	"context"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"github.com/punctual-dev/punctual/internal/identity"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/store"
)

// The events of entries.
const (
	SignedIn     = "signin.succeeded"
	SignInFailed = "signin.failed"
	SignedOut    = "signout"
	SessionEnded = "session.ended"
	KeyCreated   = "key.created"
	KeyRevoked   = "key.revoked"
	// IdentityAdded: a person can sign in at an OpenID provider; IdentityRemoved: no longer.
	IdentityAdded   = "identity.added"
	IdentityRemoved = "identity.removed"
	EmailConfirmed  = "email.confirmed"
	// EmailChangeAsked: a link was sent to a person's new email, unless it is taken.
	EmailChangeAsked = "email.change_asked"
	EmailChanged     = "email.changed"
	SecretRotated    = "secret.rotated"
	// TokenKeysRotated: the keys that sign tokens for receivers of the QStash API.
	TokenKeysRotated = "token_keys.rotated"
	// Secrets for header values.
	HeaderSecretCreated = "header_secret.created"
	HeaderSecretChanged = "header_secret.changed"
	HeaderSecretDeleted = "header_secret.deleted"
	SecretsReencrypted  = "secrets.reencrypted"
	IssuerRotated       = "issuer.rotated"
	PasswordChanged     = "password.changed"
	PasswordFailed      = "password.failed" // a wrong password or code where one confirms an act
	TOTPEnabled         = "totp.enabled"
	TOTPDisabled        = "totp.disabled"
	TOTPReset           = "totp.reset"
	RecoveryUsed        = "totp.recovery_used"
	RecoveryReplaced    = "totp.recovery_replaced"
	AccountCreated      = "account.created"
	AccountDeleted      = "account.deleted"
	OperatorChanged     = "account.operator"
	InviteCreated       = "invite.created"
	// Persons in an account.
	MemberInvited       = "member.invited"
	MemberJoined        = "member.joined"
	MemberChanged       = "member.changed"
	MemberRemoved       = "member.removed"
	MemberLeft          = "member.left"
	InvitationWithdrawn = "member.invitation_withdrawn"
	// Operators' actions on accounts and targets.
	AccountLimited   = "account.limited"
	AccountSuspended = "account.suspended"
	AccountResumed   = "account.resumed"
	TargetBlocked    = "target.blocked"
	TargetUnblocked  = "target.unblocked"
)

// The kinds of actors.
const (
	ByKey      = "key"      // a call of the API; the name is the key's prefix
	BySession  = "session"  // a person in the dashboard; the name is the email
	ByCommand  = "cli"      // the command line on the service's machine
	ByOperator = "operator" // an operator in the dashboard; the name is the email
	ByNobody   = "nobody"   // whoever tried to sign in, or anyone in the public account
)

// Actor is who did something.
type Actor struct {
	Kind    string
	Name    string // "" if the kind is sufficient
	Address string // the network address; "" for the command line
}

// Entry is an event to record.
type Entry struct {
	Account job.Owner // the account concerned; zero for the service as a whole
	Actor   Actor
	Event   string
	Detail  string // one line for a person
	// Same identifies repetitions, for example by the client's network: those with
	// one event, account and hour are counted in one entry. "" if each is an entry
	// of its own.
	Same string
	edit bool // see Log.Edited
}

// The maximum lengths of an entry's texts in bytes.
const (
	maxDetail = 500
	maxName   = 300
	maxShort  = 64
)

// storeWithin is the timeout for storing an entry, independent of the caller's
// context.
const storeWithin = 5 * time.Second

// Log is the audit log. A nil Log drops entries.
type Log struct {
	entries store.Audits
	now     func() time.Time
	log     *slog.Logger
}

// New returns a Log. If the logger is nil, entries are only stored.
func New(entries store.Audits, now func() time.Time, log *slog.Logger) *Log {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Log{entries: entries, now: now, log: log}
}

// Audit stores an entry and writes it to the log. The event has already happened,
// so a failure to store it is logged, not returned. The entry is stored even if
// ctx is cancelled.
func (l *Log) Audit(ctx context.Context, e Entry) {
	if l == nil {
		return
	}
	now := l.now()
	a := &identity.AuditEntry{
		ID: job.NewID(now), Account: e.Account.Number, InsertedAt: now, LastAt: now, Count: 1,
		Event: cut(e.Event, maxShort), ActorKind: cut(e.Actor.Kind, maxShort), ActorName: cut(e.Actor.Name, maxName),
		Address: cut(e.Actor.Address, maxShort), Detail: cut(e.Detail, maxDetail), Edit: e.edit,
	}
	if e.Same != "" {
		a.Slot = a.Event + " " + strconv.FormatInt(now.Unix()/3600, 10) + " " + cut(e.Same, maxName)
	}
	attrs := []slog.Attr{slog.String("event", a.Event), slog.String("actor", a.ActorKind)}
	account := ""
	if e.Account.Number != 0 {
		account = e.Account.ID.String()
	}
	for _, attr := range []slog.Attr{
		slog.String("name", a.ActorName), slog.String("account", account), slog.String("address", a.Address),
		slog.String("detail", a.Detail),
	} {
		if attr.Value.String() != "" {
			attrs = append(attrs, attr)
		}
	}
	l.log.LogAttrs(ctx, slog.LevelInfo, "audit", attrs...)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeWithin)
	defer cancel()
	if err := l.entries.AuditInsert(ctx, a); err != nil {
		l.log.Error("storing an entry of the audit log failed", "event", a.Event, "error", err)
	}
}

// List reads a page of the entries of an account, latest first. Event "" selects
// all. The order and offset of q are ignored.
func (l *Log) List(ctx context.Context, account int64, event string, q job.ListQuery) (job.Page[*identity.AuditEntry], error) {
	q.Order, q.Offset = job.Order{}, 0
	return job.ReadPage(q, identity.AuditSize, (*identity.AuditEntry).Position, func(list job.ListQuery) ([]*identity.AuditEntry, error) {
		return l.entries.AuditList(ctx, account, event, list.AfterID, list.Limit)
	})
}

// cut truncates a text to at most max bytes of valid text for every store.
func cut(text string, most int) string {
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, text)
	if len(text) > most {
		text = text[:most]
	}
	return strings.ToValidUTF8(text, "")
}
