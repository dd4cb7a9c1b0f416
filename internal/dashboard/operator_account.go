package dashboard

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/punctual-dev/punctual/internal/audit"
	"github.com/punctual-dev/punctual/internal/auth"
	"github.com/punctual-dev/punctual/internal/dashboard/view"
	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/identity"
	"github.com/punctual-dev/punctual/internal/quota"
)

var operatorAccountRoutes = []route{
	{"/operator/accounts/{account}", forOperators, map[string]handler{"GET": (*Server).operatorAccount}},
	{"/operator/accounts/{account}/limits", forOperators, map[string]handler{"POST": (*Server).limitAccount}},
	{"/operator/accounts/{account}/suspend", forOperators, map[string]handler{"POST": (*Server).suspendAccount}},
	{"/operator/accounts/{account}/resume", forOperators, map[string]handler{"POST": (*Server).resumeAccount}},
}

// accountInPath reads the account in the path of an operator's page.
func (s *Server) accountInPath(c *call) (*identity.Account, error) {
	number, err := strconv.ParseInt(c.r.PathValue("account"), 10, 64)
	if err != nil {
		return nil, fault.NoSuch("account")
	}
	a, err := s.Auth.CurrentAccount(c.r.Context(), number)
	if err == nil && !a.DeletedAt.IsZero() {
		return nil, fault.NoSuch("account")
	}
	return a, err
}

func (s *Server) operatorAccount(c *call) error { return s.showAccount(c, nil, nil) }

// showAccount shows the page of an account; form is a form that was refused, and
// refusal why.
func (s *Server) showAccount(c *call, form url.Values, refusal error) error {
	a, err := s.accountInPath(c)
	if err != nil {
		return err
	}
	d := &view.OperatorAccount{
		Number: a.Number, Email: a.Email, Own: a.Number == c.owner().Number, SuspendedAt: a.SuspendedAt, SuspendedFor: a.SuspendedFor,
		Form: form, Err: refusal, Notice: c.notice(),
	}
	if form == nil {
		d.Form = limitsForm(a.Limits)
	}
	if d.Usage, err = s.usage(c, a.Number, s.Quotas.Defaults.Of(a, a.Number == s.Quotas.Public)); err != nil {
		return err
	}
	status := http.StatusOK
	if refusal != nil {
		status = c.statusOf(refusal)
	}
	return c.render(status, view.OperatorAccountPage(d))
}

// limitsForm returns limits as values of the form.
func limitsForm(l identity.Overrides) url.Values {
	form := url.Values{}
	for name, n := range map[string]*int64{"max_pending": l.Pending, "max_schedules": l.Schedules} {
		if n != nil {
			form.Set(name, strconv.FormatInt(*n, 10))
		}
	}
	if l.Stored != nil {
		form.Set("max_stored", strings.ReplaceAll(strings.TrimSuffix(quota.FormatSize(*l.Stored), " bytes"), " ", ""))
	}
	if l.Rate != nil {
		form.Set("rate_limit", strconv.FormatFloat(*l.Rate, 'f', -1, 64))
	}
	return form
}

// readLimits parses the form. An empty field means the service's limit.
func readLimits(form url.Values) (l identity.Overrides, err error) {
	var problems []fault.Problem
	read := func(name, wanted string, take func(text string) bool) {
		if text := strings.TrimSpace(form.Get(name)); text != "" && !take(text) {
			problems = append(problems, fault.Problem{Pointer: "#/" + name, Detail: "must be " + wanted})
		}
	}
	count := func(to **int64, parse func(string) (int64, bool)) func(string) bool {
		return func(text string) bool {
			n, ok := parse(text)
			*to = &n
			return ok
		}
	}
	read("max_pending", "a whole number, or 0 for any number", count(&l.Pending, quota.ParseCount))
	read("max_schedules", "a whole number, or 0 for any number", count(&l.Schedules, quota.ParseCount))
	read("max_stored", "a size like 100MB, or 0 for any size", count(&l.Stored, quota.ParseSize))
	read("rate_limit", "a number of calls a second, or 0 for any number", func(text string) bool {
		r, ok := quota.ParseRate(text)
		l.Rate = (*float64)(&r)
		return ok
	})
	return l, fault.Refuse(problems)
}

func (s *Server) limitAccount(c *call) error {
	a, err := s.accountInPath(c)
	if err != nil {
		return err
	}
	limits, err := readLimits(c.r.PostForm)
	if err != nil {
		return s.showAccount(c, c.r.PostForm, err)
	}
	if err := s.Quotas.SetLimits(c.r.Context(), a.Number, limits); err != nil {
		return err
	}
	s.Auth.Forget()
	s.auditOperator(c, a, audit.AccountLimited, quota.FormatOverrides(limits))
	return c.redirect("/operator/accounts/%d?done=limited", a.Number)
}

func (s *Server) suspendAccount(c *call) error {
	a, err := s.accountInPath(c)
	if err != nil {
		return err
	}
	if a.Number == c.owner().Number {
		return fault.New(fault.Invalid, "You can't suspend the account that you are signed in to.")
	}
	reason := strings.TrimSpace(c.r.PostForm.Get("reason"))
	if err := auth.CheckReason(reason); err != nil {
		return s.showAccount(c, nil, err)
	}
	return s.suspend(c, a, s.Service.Now(), reason, audit.AccountSuspended, "suspended")
}

func (s *Server) resumeAccount(c *call) error {
	a, err := s.accountInPath(c)
	if err != nil {
		return err
	}
	return s.suspend(c, a, time.Time{}, "", audit.AccountResumed, "resumed")
}

func (s *Server) suspend(c *call, a *identity.Account, at time.Time, reason, event, done string) error {
	if err := s.Service.Suspend(c.r.Context(), a.Number, at, reason); err != nil {
		return err
	}
	s.Auth.Forget()
	if !at.IsZero() || !a.SuspendedAt.IsZero() {
		s.auditOperator(c, a, event, reason)
	}
	return c.redirect("/operator/accounts/%d?done=%s", a.Number, done)
}
