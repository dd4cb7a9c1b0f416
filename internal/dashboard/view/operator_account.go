package view

import (
	"fmt"
	"net/url"
	"time"
)

// OperatorAccount is the operator's page of one account.
type OperatorAccount struct {
	Number       int64
	Email        string
	Own          bool // the operator's own account
	SuspendedAt  time.Time
	SuspendedFor string
	Usage        Usage
	Form         url.Values // the limits as entered, else as they are
	Err          error      // why the form was refused
	Notice       string
}

// Usage is what an account uses of its limits, as texts.
type Usage struct {
	Calls, PendingJobs, Schedules string
	Stored                        string // "" if it is not limited
}

// value returns the text of a field of the limits.
func (d *OperatorAccount) value(name string) string { return d.Form.Get(name) }

// at returns the problem with a field; "" if there is none.
func (d *OperatorAccount) at(name string) string { return ProblemAt(d.Err, "#/"+name) }

// action returns the address of a form about the account.
func (d *OperatorAccount) action(what string) string {
	return fmt.Sprintf("/operator/accounts/%d/%s", d.Number, what)
}
