package cli

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/alecthomas/kong"
	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/audit"
	"github.com/punctual-dev/punctual/internal/auth"
	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/identity"
	"github.com/punctual-dev/punctual/internal/quota"
	"github.com/punctual-dev/punctual/internal/store"
)

// limit is an optional limit.
type limit struct {
	value int64
	given bool
}

// get returns the limit, or nil if it was not given.
func (l limit) get() *int64 {
	if !l.given {
		return nil
	}
	return &l.value
}

func (l *limit) decode(ctx *kong.DecodeContext, parse func(string) (int64, bool), wanted string) error {
	var value *int64
	err := decodeLimit(ctx, &value, parse, wanted)
	if err == nil {
		*l = limit{*value, true}
	}
	return err
}

// What limits must be, for messages.
const (
	wantedCount = "a whole number, or 0 for no limit"
	wantedSize  = "a size like 100MB or 2GiB, or 0 for no limit"
	wantedRate  = "a number of calls per second, or 0 for no limit"
)

// count is a limit of records.
type count struct{ limit }

// Decode implements kong.MapperValue.
func (c *count) Decode(ctx *kong.DecodeContext) error {
	return c.decode(ctx, quota.ParseCount, wantedCount)
}

// size is a limit of bytes.
type size struct{ limit }

// Decode implements kong.MapperValue.
func (s *size) Decode(ctx *kong.DecodeContext) error {
	return s.decode(ctx, quota.ParseSize, wantedSize)
}

func decodeLimit[T any](ctx *kong.DecodeContext, to **T, parse func(string) (T, bool), wanted string) error {
	text, err := popText(ctx)
	if err != nil {
		return err
	}
	value, ok := parse(text)
	if !ok {
		return fmt.Errorf("must be %s, not %q", wanted, text)
	}
	*to = &value
	return nil
}

// override is a limit of one account, or the word default (or none), which
// removes it.
type override[T any] struct {
	value *T
	given bool
}

func (o *override[T]) decode(ctx *kong.DecodeContext, parse func(string) (T, bool), wanted string) error {
	o.given = true
	if text := ctx.Scan.Peek().String(); text == "default" || text == "none" {
		_, err := popText(ctx)
		return err
	}
	return decodeLimit(ctx, &o.value, parse, wanted+"; default removes the account's own limit")
}

// apply replaces a limit if the flag was given.
func (o *override[T]) apply(to **T) {
	if o.given {
		*to = o.value
	}
}

type countOverride struct{ override[int64] }

// Decode implements kong.MapperValue.
func (o *countOverride) Decode(ctx *kong.DecodeContext) error {
	return o.decode(ctx, quota.ParseCount, wantedCount)
}

type sizeOverride struct{ override[int64] }

// Decode implements kong.MapperValue.
func (o *sizeOverride) Decode(ctx *kong.DecodeContext) error {
	return o.decode(ctx, quota.ParseSize, wantedSize)
}

type rateOverride struct{ override[float64] }

// Decode implements kong.MapperValue.
func (o *rateOverride) Decode(ctx *kong.DecodeContext) error {
	return o.decode(ctx, func(text string) (float64, bool) {
		r, ok := quota.ParseRate(text)
		return float64(r), ok
	}, wantedRate)
}

type accountsLimit struct {
	recordsFlags
	Email        string        `arg:"" help:"The account's email; public is the account of the public key."`
	MaxPending   countOverride `placeholder:"N" help:"Unfinished one-off jobs; 0 means no limit, default the service's limit."`
	MaxSchedules countOverride `placeholder:"N" help:"Schedules, including disabled ones; 0 means no limit, default the service's limit."`
	MaxStored    sizeOverride  `placeholder:"SIZE" help:"Space that its records may use (100MB, 2GiB); 0 means no limit, default the service's limit."`
	RateLimit    rateOverride  `placeholder:"N" help:"Calls per second; 0 means no limit, default the service's limit."`
}

type limitsView struct {
	ID     uuid.UUID `json:"id"`
	Email  string    `json:"email"`
	Limits struct {
		MaxPending   *int64   `json:"max_pending"`
		MaxSchedules *int64   `json:"max_schedules"`
		MaxStored    *int64   `json:"max_stored"`
		RateLimit    *float64 `json:"rate_limit"`
	} `json:"limits"`
}

func viewLimits(a *identity.Account) limitsView {
	v := limitsView{ID: a.ID, Email: a.Email}
	v.Limits.MaxPending, v.Limits.MaxSchedules = a.Limits.Pending, a.Limits.Schedules
	v.Limits.MaxStored, v.Limits.RateLimit = a.Limits.Stored, a.Limits.Rate
	return v
}

func (v *limitsView) print(out io.Writer) error {
	number := func(n int64) string { return strconv.FormatInt(n, 10) }
	_, err := fmt.Fprintf(out, "account        %s\nmax-pending    %s\nmax-schedules  %s\nmax-stored     %s\nrate-limit     %s\n", v.Email,
		limitText(v.Limits.MaxPending, number), limitText(v.Limits.MaxSchedules, number), limitText(v.Limits.MaxStored, quota.FormatSize),
		limitText(v.Limits.RateLimit, func(r float64) string { return strconv.FormatFloat(r, 'f', -1, 64) + " calls a second" }))
	return err
}

// limitText formats a limit of an account.
func limitText[T comparable](limit *T, write func(T) string) string {
	var zero T
	switch {
	case limit == nil:
		return "default (the service's limit)"
	case *limit == zero:
		return "unlimited"
	}
	return write(*limit)
}

// Run changes the given limits of an account and shows all its limits.
func (c *accountsLimit) Run(env *environment) error {
	return c.withAccount(env, c.Email, func(ctx context.Context, s store.Store, a *identity.Account) error {
		c.MaxPending.apply(&a.Limits.Pending)
		c.MaxSchedules.apply(&a.Limits.Schedules)
		c.MaxStored.apply(&a.Limits.Stored)
		c.RateLimit.apply(&a.Limits.Rate)
		if c.MaxPending.given || c.MaxSchedules.given || c.MaxStored.given || c.RateLimit.given {
			if err := s.AccountLimit(ctx, a.Number, a.Limits); err != nil {
				return err
			}
			env.record(s, a.Owner, audit.AccountLimited, quota.FormatOverrides(a.Limits))
		}
		v := viewLimits(a)
		if c.JSON {
			return printJSON(env.out, v)
		}
		return v.print(env.out)
	})
}

type accountsSuspend struct {
	recordsFlags
	Email  string `arg:"" help:"The account's email; public is the account of the public key."`
	Reason string `placeholder:"TEXT" help:"The reason, which the account's owner sees."`
}

// Run suspends an account.
func (c *accountsSuspend) Run(env *environment) error {
	if err := auth.CheckReason(c.Reason); err != nil {
		return fmt.Errorf("--reason %s", fault.ProblemsOf(err)[0].Detail)
	}
	return c.withAccount(env, c.Email, func(ctx context.Context, s store.Store, a *identity.Account) error {
		return c.setSuspension(env, ctx, s, a, s.Now(), c.Reason)
	})
}

type accountsResume struct {
	recordsFlags
	Email string `arg:"" help:"The account's email; public is the account of the public key."`
}

// Run resumes an account.
func (c *accountsResume) Run(env *environment) error {
	return c.withAccount(env, c.Email, func(ctx context.Context, s store.Store, a *identity.Account) error {
		return c.setSuspension(env, ctx, s, a, time.Time{}, "")
	})
}

// setSuspension suspends an account, or resumes it at the zero time.
func (f *recordsFlags) setSuspension(env *environment, ctx context.Context, s store.Store, a *identity.Account, at time.Time,
	reason string) error {
	if err := s.AccountSuspend(ctx, a.Number, at, reason); err != nil {
		return err
	}
	switch {
	case !at.IsZero():
		env.record(s, a.Owner, audit.AccountSuspended, reason)
	case !a.SuspendedAt.IsZero():
		env.record(s, a.Owner, audit.AccountResumed, "")
	}
	if f.JSON {
		return printJSON(env.out, struct {
			ID        uuid.UUID `json:"id"`
			Suspended bool      `json:"suspended"`
		}{a.ID, !at.IsZero()})
	}
	what := "is suspended: within two seconds none of its jobs run and its keys are refused; punctual accounts resume ends it"
	if at.IsZero() {
		what = "is not suspended; jobs that became due meanwhile run at once"
	}
	_, err := fmt.Fprintln(env.out, a.Email, what)
	return err
}
