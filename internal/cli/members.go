package cli

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"text/tabwriter"

	"github.com/punctual-dev/punctual/internal/identity"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/store"
)

type membersCommand struct {
	List   membersList   `cmd:"" help:"List who belongs to the account, and who is invited."`
	Invite membersInvite `cmd:"" help:"Invite a person. The link is shown once."`
	Role   membersRole   `cmd:"" help:"Change the role of a person or an invitation."`
	Remove membersRemove `cmd:"" help:"Remove persons from the account, or withdraw invitations."`
}

// memberView is a member as the API shows it.
type memberView struct {
	ID    string `json:"id"`
	Email string `json:"email"`
	Role  string `json:"role"`
	State string `json:"state"`
	Link  string `json:"link,omitempty"`
}

func (m *memberView) id() string { return m.ID }

func memberPath(id string) string { return "/api/account/members/" + url.PathEscape(id) }

type membersList struct {
	serviceFlags
	listFlags
}

// Run lists members.
func (c *membersList) Run(env *environment) error {
	records, err := c.list(env, "/api/account/members", url.Values{}, c.Limit)
	columns := []column{{title: "ID"}, {title: "EMAIL", shrink: true}, {title: "ROLE"}, {title: "STATE"}}
	return listing[memberView]{
		id:      (*memberView).id,
		none:    "nobody belongs to this account",
		columns: columns,
		row:     func(_ terminal, m *memberView) []string { return []string{m.ID, m.Email, m.Role, m.State} },
	}.print(&c.displayFlags, env, records, err)
}

func (c *serviceFlags) printMember(env *environment, record []byte, err error) error {
	return printOne(&c.displayFlags, env, record, err, (*memberView).id, func(m *memberView) error {
		f := facts{to: c.terminal(env)}
		f.add("email", m.Email)
		f.add("id", m.ID)
		f.add("role", m.Role)
		f.add("state", m.State)
		if m.Link != "" {
			f.add("link", m.Link)
		}
		return f.print(env.out)
	})
}

type membersInvite struct {
	serviceFlags
	Email string `arg:"" help:"The email that the person signs in with."`
	Role  string `required:"" enum:"viewer,editor,admin,owner" placeholder:"ROLE" help:"What the person may do: viewer, editor, admin or owner."`
}

// Run invites a person.
func (c *membersInvite) Run(env *environment) error {
	body := rawjson.Object([]rawjson.Member{{Name: "email", Value: rawjson.Quote(c.Email)}, {Name: "role", Value: rawjson.Quote(c.Role)}})
	record, err := c.record(env, http.MethodPost, "/api/account/members", body)
	return c.printMember(env, record, err)
}

type membersRole struct {
	serviceFlags
	ID   string `arg:"" help:"The member's id; members list shows it."`
	Role string `arg:"" enum:"viewer,editor,admin,owner" help:"viewer, editor, admin or owner."`
}

// Run changes a role.
func (c *membersRole) Run(env *environment) error {
	body := rawjson.Object([]rawjson.Member{{Name: "role", Value: rawjson.Quote(c.Role)}})
	record, err := c.record(env, http.MethodPatch, memberPath(c.ID), body)
	return c.printMember(env, record, err)
}

type membersRemove struct {
	serviceFlags
	IDs []string `arg:"" name:"id" help:"The members' ids; members list shows them."`
}

// Run removes members.
func (c *membersRemove) Run(env *environment) error {
	return c.deleteAll(env, "member", c.IDs, memberPath)
}

type accountsMembers struct {
	recordsFlags
	Email string `arg:"" help:"The account's email."`
}

// Run lists who belongs to an account.
func (c *accountsMembers) Run(env *environment) error {
	return c.withAccount(env, c.Email, func(ctx context.Context, s store.Store, a *identity.Account) error {
		members, err := s.MemberList(ctx, a.Number)
		if err != nil {
			return err
		}
		views := make([]memberView, len(members))
		for i, m := range members {
			views[i] = memberView{ID: m.ID.String(), Email: m.Email, Role: string(m.Role), State: "member"}
			if m.Invited() {
				views[i].State = "invited"
			}
		}
		if c.JSON {
			return printJSON(env.out, views)
		}
		w := tabwriter.NewWriter(env.out, 0, 0, 2, ' ', 0)
		_, _ = fmt.Fprintln(w, "ID\tEMAIL\tROLE\tSTATE")
		for _, m := range views {
			_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", m.ID, printable(m.Email), m.Role, m.State)
		}
		return w.Flush()
	})
}
