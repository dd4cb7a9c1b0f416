package dashboard

import (
	"net/http"
	"strconv"
	"time"

	"github.com/punctual-dev/punctual/internal/audit"
	"github.com/punctual-dev/punctual/internal/auth"
	"github.com/punctual-dev/punctual/internal/dashboard/ui"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/store"
)

var operatorRoutes = []route{
	{"/operator", forOperators, map[string]handler{"GET": (*Server).operator}},
	{"/operator/invites", forOperators, map[string]handler{"POST": (*Server).makeInvite}},
}

const (
	// accountsShown is how many accounts a page has, and sizesCounted up to which
	// number their records are counted.
	accountsShown = 10
	sizesCounted  = 5000
	// blocksShown is how many blocked targets the page shows.
	blocksShown = 50
	// nodeSilent is after how long without a beat a node is marked.
	nodeSilent = 6 * time.Second
)

// operator is what the operator's page shows: sizes and health, no payloads.
type operator struct {
	accounts    []accountLine
	first, next string
	nodes       []store.Node
	running     bool
	answers     time.Duration // how long the store took to store nothing
	storeError  bool
	door        auth.Door
	signup      auth.Signup // as it was set
	invite      string      // a new one, shown this once
	notice      string

	blocked     []store.TargetBlock // up to blocksShown
	blockedMore int                 // how many more there are
}

type accountLine struct {
	*store.Account
	size store.Size
}

func (s *Server) operator(c *call) error {
	d, err := s.readOperator(c)
	if err != nil {
		return err
	}
	return c.render(http.StatusOK, operatorPage(d))
}

func (s *Server) readOperator(c *call) (*operator, error) {
	ctx := c.r.Context()
	d := &operator{running: s.Running == nil || s.Running(), signup: s.People.Signup, notice: c.notice()}
	after, _ := strconv.ParseInt(c.param("after"), 10, 64) // anything else is the beginning
	accounts, err := s.Store.AccountPage(ctx, after, accountsShown+1)
	if err != nil {
		return nil, err
	}
	if len(accounts) > accountsShown {
		accounts = accounts[:accountsShown]
		d.next = c.here("after", strconv.FormatInt(accounts[accountsShown-1].Number, 10))
	}
	if after > 0 {
		d.first = c.here("after", "")
	}
	for _, a := range accounts {
		size, err := s.Store.AccountSize(ctx, a.Number, sizesCounted)
		if err != nil {
			return nil, err
		}
		d.accounts = append(d.accounts, accountLine{a, size})
	}
	if d.nodes, err = s.Store.NodeList(ctx); err != nil {
		return nil, err
	}
	if d.blocked, err = s.Store.TargetBlocks(ctx); err != nil {
		return nil, err
	}
	if more := len(d.blocked) - blocksShown; more > 0 {
		d.blocked, d.blockedMore = d.blocked[:blocksShown], more
	}
	if d.door, err = s.People.Door(ctx); err != nil {
		return nil, err
	}
	start := time.Now()
	d.storeError = s.Store.Ping(ctx) != nil
	d.answers = time.Since(start)
	return d, nil
}

// makeInvite makes an invite and shows it, this once.
func (s *Server) makeInvite(c *call) error {
	code, invite, err := auth.CreateInvite(c.r.Context(), s.Store, s.Store.Now())
	if err != nil {
		return err
	}
	s.Audit.Audit(c.r.Context(), audit.Entry{Actor: c.operatorActor(), Event: audit.InviteCreated, Detail: "until " + job.FormatTime(invite.ExpiresAt)})
	d, err := s.readOperator(c)
	if err != nil {
		return err
	}
	d.invite = code
	return c.render(http.StatusOK, operatorPage(d))
}

// counted gives a number that was counted up to sizesCounted.
func counted(n int64) string {
	if n >= sizesCounted {
		return ui.Count(sizesCounted) + "+"
	}
	return ui.Count(n)
}

var signupWords = map[auth.Signup]string{
	auth.SignupFirst:  "Nobody, now that there is an account",
	auth.SignupOpen:   "Anyone who can reach this service",
	auth.SignupInvite: "Who has an invite",
	auth.SignupClosed: "Nobody",
}

// answersIn says how fast the store is, as far as that can be felt.
func answersIn(d time.Duration) string {
	if d < time.Millisecond {
		return "answers at once"
	}
	return "answers in " + ui.Millis(d)
}
