package auth

import (
	"context"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/access"
	"github.com/punctual-dev/punctual/internal/audit"
	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/identity"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/mailaddress"
	"github.com/punctual-dev/punctual/internal/store"
)

// JoinPath begins the path of the page that the link of an invitation leads to. The
// code follows.
const JoinPath = "/join/"

// joinPrefix is the prefix of every code of an invitation to an account.
const joinPrefix = "join_"

// MembersConfig configures Members.
type MembersConfig struct {
	Store store.Members
	Now   func() time.Time
	// PublicURL is where links lead; nil if it isn't known. Only then are they sent.
	PublicURL *url.URL
	// Mail sends the link of an invitation to an address, for an account; nil if the
	// service sends no e-mails.
	Mail  func(ctx context.Context, account job.Owner, to mailaddress.Address, link string)
	Log   *slog.Logger
	Audit *audit.Log // nil records nothing
}

// Members decides who belongs to an account, and with which role. Its methods enforce
// the role of the caller, which package access has put into the context.
type Members struct {
	MembersConfig
	// Invitations are counted by account, e-mails by account and by mailbox.
	invites, mails, mailboxes *throttle
}

// NewMembers returns Members.
func NewMembers(config MembersConfig) *Members {
	return &Members{
		MembersConfig: config, invites: newThrottle(100, 10*time.Second),
		mails: newThrottle(20, time.Hour), mailboxes: newThrottle(3, 8*time.Hour),
	}
}

// List returns the persons and invitations of an account, in order of their emails.
func (m *Members) List(ctx context.Context, owner job.Owner) ([]*identity.Member, error) {
	if err := access.Allow(ctx, "auth.Members.List"); err != nil {
		return nil, err
	}
	return m.Store.MemberList(ctx, owner.Number)
}

// CheckMember returns what is wrong with a field of a member, email or role; "" if
// nothing is.
func CheckMember(field, text string) string {
	switch {
	case field == "email" && !isEmail(text):
		return "must be an email address like alex@example.com"
	case field == "role" && !identity.Role(text).Includes(identity.RoleViewer):
		return "must be viewer, editor, admin or owner"
	}
	return ""
}

// checkFields returns an Invalid fault if the email or the role is wrong.
func checkFields(email string, role identity.Role) error {
	var problems []fault.Problem
	for _, f := range [][2]string{{"email", email}, {"role", string(role)}} {
		if detail := CheckMember(f[0], f[1]); detail != "" {
			problems = append(problems, fault.Problem{Pointer: "#/" + f[0], Detail: detail})
		}
	}
	return fault.Refuse(problems)
}

// Invite invites the owner of an email to an account and returns the invitation with
// its link, which can't be retrieved again. Origin is where the link leads if the
// service doesn't know its address. A further invitation of an email replaces the one
// before. It returns an Invalid fault if the email or the role is wrong, a Conflict
// fault if the person is a member already or there are too many, and a Forbidden fault
// if the role exceeds the caller's.
func (m *Members) Invite(ctx context.Context, owner job.Owner, email string, role identity.Role, origin string,
	by audit.Actor) (*identity.Member, string, error) {
	if err := access.Allow(ctx, "auth.Members.Invite"); err != nil {
		return nil, "", err
	}
	if err := checkFields(email, role); err != nil {
		return nil, "", err
	}
	address, _ := mailaddress.Parse(email)
	if err := access.Need(ctx, role); err != nil {
		return nil, "", err
	}
	now := m.Now()
	if err := m.invites.allow(owner.ID.String(), now); err != nil {
		return nil, "", err
	}
	code := newToken(joinPrefix)
	invited := &identity.Member{
		ID: job.NewID(now), Account: owner.Number, Email: address.String(), Role: role, CreatedAt: now, Hash: hashKey(code),
		ExpiresAt: now.Add(InviteLasts),
	}
	err := m.Store.MemberChange(ctx, owner.Number, uuid.Nil, invited.Email, func(s *identity.MemberState) (*identity.Member, error) {
		switch {
		case s.Member != nil && !s.Member.Invited():
			return nil, fault.New(fault.Conflict, invited.Email+" is a member of this account already; change the role instead")
		case s.Member != nil:
			if err := access.Need(ctx, s.Member.Role); err != nil {
				return nil, err
			}
			invited.ID = s.Member.ID
		case s.All >= identity.MaxMembers:
			return nil, fault.New(fault.Conflict, fmt.Sprintf(
				"the account has %d members and invitations, which is the limit; remove one first", s.All))
		}
		return invited, nil
	})
	if err != nil {
		return nil, "", err
	}
	m.Audit.Audit(ctx, audit.Entry{Account: owner, Actor: by, Event: audit.MemberInvited, Detail: invited.Email + ", role " + string(role)})
	if m.PublicURL != nil {
		origin = m.PublicURL.String()
	}
	link := strings.TrimSuffix(origin, "/") + JoinPath + code
	m.send(ctx, owner, address, link, now)
	return invited, link, nil
}

// send sends a link by e-mail, unless the account or the mailbox has got too many.
func (m *Members) send(ctx context.Context, owner job.Owner, to mailaddress.Address, link string, now time.Time) {
	if m.Mail == nil || m.PublicURL == nil {
		return
	}
	if m.mails.allow(owner.ID.String(), now) != nil || m.mailboxes.allow(to.Mailbox(), now) != nil {
		m.Log.Warn("an invitation was not sent by e-mail: the account or the mailbox has had too many", "account", owner.ID)
		return
	}
	m.Mail(ctx, owner, to, link)
}

var errLastOwner = fault.New(fault.Conflict, "this is the last owner, and an account can't be without one; make another member an owner first")

// mayChange returns a fault unless the caller may change or remove a member, whose next
// role is "" if it is to be removed.
func mayChange(ctx context.Context, s *identity.MemberState, next identity.Role, self uuid.UUID) error {
	if s.Member == nil {
		return fault.NoSuch("member")
	}
	leaves := next == "" && self != uuid.Nil && s.Member.Person == self
	if !leaves {
		if err := access.Need(ctx, s.Member.Role); err != nil {
			return err
		}
	}
	if s.Member.Role == identity.RoleOwner && !s.Member.Invited() && next != identity.RoleOwner && s.Owners <= 1 {
		return errLastOwner
	}
	return nil
}

// Change changes the role of a member, or of an invitation. It returns a NotFound fault
// if there is none with the ID, a Conflict fault for the last owner, and a Forbidden
// fault if either role exceeds the caller's.
func (m *Members) Change(ctx context.Context, owner job.Owner, id uuid.UUID, role identity.Role, by audit.Actor) (*identity.Member, error) {
	if err := access.Allow(ctx, "auth.Members.Change"); err != nil {
		return nil, err
	}
	if detail := CheckMember("role", string(role)); detail != "" {
		return nil, fault.Refuse([]fault.Problem{{Pointer: "#/role", Detail: detail}})
	}
	var changed identity.Member
	var before identity.Role
	err := m.Store.MemberChange(ctx, owner.Number, id, "", func(s *identity.MemberState) (*identity.Member, error) {
		if err := mayChange(ctx, s, role, uuid.Nil); err != nil {
			return nil, err
		}
		if err := access.Need(ctx, role); err != nil {
			return nil, err
		}
		before, changed = s.Member.Role, *s.Member
		changed.Role = role
		return &changed, nil
	})
	if err != nil {
		return nil, err
	}
	if before != role {
		m.Audit.Audit(ctx, audit.Entry{Account: owner, Actor: by, Event: audit.MemberChanged,
			Detail: changed.Email + ", role " + string(role) + " instead of " + string(before)})
	}
	return &changed, nil
}

// Remove removes a member, whose sessions in the account end, or withdraws an
// invitation. Self is the person who calls, who may leave with any role; uuid.Nil for a
// key. It returns the faults of Change.
func (m *Members) Remove(ctx context.Context, owner job.Owner, id, self uuid.UUID, by audit.Actor) error {
	var removed identity.Member
	err := m.Store.MemberChange(ctx, owner.Number, id, "", func(s *identity.MemberState) (*identity.Member, error) {
		if s.Member != nil && (self == uuid.Nil || s.Member.Person != self) {
			if err := access.Allow(ctx, "auth.Members.Remove"); err != nil {
				return nil, err
			}
		}
		if err := mayChange(ctx, s, "", self); err != nil {
			return nil, err
		}
		removed = *s.Member
		return nil, nil
	})
	if err != nil {
		return err
	}
	event := audit.MemberRemoved
	switch {
	case removed.Invited():
		event = audit.InvitationWithdrawn
	case removed.Person == self:
		event = audit.MemberLeft
	}
	m.Audit.Audit(ctx, audit.Entry{Account: owner, Actor: by, Event: event, Detail: removed.Email + ", role " + string(removed.Role)})
	return nil
}
