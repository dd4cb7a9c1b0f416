package dashboard

import (
	"net/http"
	"strconv"
	"time"

	"github.com/punctual-dev/punctual/internal/audit"
	"github.com/punctual-dev/punctual/internal/auth"
	"github.com/punctual-dev/punctual/internal/dashboard/ui"
	"github.com/punctual-dev/punctual/internal/dashboard/view"
	"github.com/punctual-dev/punctual/internal/job"
)

var operatorRoutes = []route{
	{"/operator", forOperators, map[string]handler{"GET": (*Server).operator}},
	{"/operator/invites", forOperators, map[string]handler{"POST": (*Server).createInvite}},
}

const (
	// accountsShown is how many accounts a page has, and countLimit up to which
	// number their records are counted.
	accountsShown = 10
	countLimit    = 5000
	// blocksShown is how many blocked targets the page shows.
	blocksShown = 50
	// nodeSilent is how long after its last heartbeat a node is shown as silent.
	nodeSilent = 6 * time.Second
)

func (s *Server) operator(c *call) error {
	d, err := s.readOperator(c)
	if err != nil {
		return err
	}
	return c.render(http.StatusOK, view.OperatorPage(d))
}

func (s *Server) readOperator(c *call) (*view.Operator, error) {
	ctx := c.r.Context()
	signup := s.People.Signup
	d := &view.Operator{
		Running: s.Running == nil || s.Running(), CountLimit: countLimit, Signup: signupWords[signup],
		CanInvite: signup == auth.SignupInvite, Notice: c.notice(),
	}
	if err := s.readAccounts(c, d); err != nil {
		return nil, err
	}
	nodes, err := s.Service.Nodes(ctx)
	if err != nil {
		return nil, err
	}
	for _, n := range nodes {
		silent := !n.HeartbeatAt.IsZero() && s.Service.Now().Sub(n.HeartbeatAt) > nodeSilent
		d.Nodes = append(d.Nodes, view.Node{Number: n.Number, StartedAt: n.StartedAt, HeartbeatAt: n.HeartbeatAt, Silent: silent})
	}
	blocked, err := s.Service.BlockedTargets(ctx)
	if err != nil {
		return nil, err
	}
	for _, b := range blocked[:min(len(blocked), blocksShown)] {
		d.BlockedTargets = append(d.BlockedTargets, view.BlockedTarget{Target: b.Target, Reason: b.Reason, BlockedAt: b.BlockedAt})
	}
	d.MoreBlocked = len(blocked) - len(d.BlockedTargets)
	start := time.Now()
	d.StoreDown = s.Service.Ready(ctx) != nil
	d.StoreLatency = time.Since(start)
	return d, nil
}

// readAccounts reads a page of the list of accounts.
func (s *Server) readAccounts(c *call, d *view.Operator) error {
	after, _ := strconv.ParseInt(c.param("after"), 10, 64) // anything else is the first page
	page, err := s.Service.Accounts(c.r.Context(), job.ListQuery{Limit: accountsShown, After: after})
	if err != nil {
		return err
	}
	if page.Next != nil {
		d.Next = c.here("after", strconv.FormatInt(page.Next.After, 10))
	}
	if after > 0 {
		d.First = c.here("after", "")
	}
	for _, a := range page.Items {
		n, err := s.Service.RecordCounts(c.r.Context(), a.Number, countLimit)
		if err != nil {
			return err
		}
		d.Accounts = append(d.Accounts, view.AccountRow{
			Number: a.Number, Email: a.Email, CreatedAt: a.CreatedAt,
			Suspended: !a.SuspendedAt.IsZero(), Operator: a.Operator, Public: a.Email == auth.PublicEmail,
			Pending: counted(n.Pending), Final: counted(n.Final), Schedules: counted(n.Schedules), Logs: counted(n.Logs),
		})
	}
	return nil
}

// createInvite creates an invite and shows it once.
func (s *Server) createInvite(c *call) error {
	code, invite, err := s.People.Invite(c.r.Context())
	if err != nil {
		return err
	}
	s.Audit.Audit(c.r.Context(), audit.Entry{Actor: c.operatorActor(), Event: audit.InviteCreated,
		Detail: "until " + job.FormatTime(invite.ExpiresAt)})
	d, err := s.readOperator(c)
	if err != nil {
		return err
	}
	d.Invite = code
	return c.render(http.StatusOK, view.OperatorPage(d))
}

// counted formats a number that was counted up to countLimit.
func counted(n int64) string {
	if n >= countLimit {
		return ui.Count(countLimit) + "+"
	}
	return ui.Count(n)
}

// signupWords describes who may sign up.
var signupWords = map[auth.Signup]string{
	auth.SignupFirst:  "Nobody, now that there is an account",
	auth.SignupOpen:   "Anyone who can reach this service",
	auth.SignupInvite: "Anyone with an invite",
	auth.SignupClosed: "Nobody",
}
