package quota

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/identity"
	"github.com/punctual-dev/punctual/internal/store"
)

// Limits are the limits of one account; 0 is unlimited.
type Limits struct {
	Pending   int64 // unfinished one-off jobs
	Schedules int64 // schedules, disabled ones included
	Stored    int64 // bytes of records
	Rate      Rate  // API calls a second
}

// The default limits of the public key's account.
const (
	PublicPending   = 1000
	PublicSchedules = 20
	PublicStored    = 100_000_000
)

// Defaults are the service's limits.
type Defaults struct {
	// Pending, Schedules and Stored apply to every account. Nil is unlimited, except
	// for the public key's account, which has default limits then.
	Pending, Schedules, Stored *int64
	// Rate applies to every account except the public key's, PublicRate to that one,
	// and AnonymousRate to each network address without a key.
	Rate, PublicRate, AnonymousRate Rate
}

// Of resolves the limits of an account.
func (d *Defaults) Of(a *identity.Account, public bool) Limits {
	l := Limits{Rate: d.Rate}
	if public {
		l = Limits{Pending: PublicPending, Schedules: PublicSchedules, Stored: PublicStored, Rate: d.PublicRate}
	}
	for _, some := range []identity.Overrides{{Pending: d.Pending, Schedules: d.Schedules, Stored: d.Stored}, a.Limits} {
		set(&l.Pending, some.Pending)
		set(&l.Schedules, some.Schedules)
		set(&l.Stored, some.Stored)
		if some.Rate != nil {
			l.Rate = Rate(*some.Rate)
		}
	}
	return l
}

func set(to, value *int64) {
	if value != nil {
		*to = *value
	}
}

// retryAfter is when clients should retry after exceeding a limit.
const retryAfter = time.Minute

// Exceeded returns the fault for a create that would exceed a limit.
func (l *Limits) Exceeded(q store.Quota) error {
	message := ""
	switch q {
	case store.QuotaPending:
		message = fmt.Sprintf("the account has reached its limit of %d unfinished one-off jobs (max-pending); nothing was stored: wait until pending jobs have run, or cancel some, then try again", l.Pending)
	case store.QuotaSchedules:
		message = fmt.Sprintf("the account has reached its limit of %d schedules, disabled ones included (max-schedules); nothing was stored: delete a schedule, then try again", l.Schedules)
	default:
		message = fmt.Sprintf("the account's records take up more than its limit of %s (max-stored); nothing was stored: delete what is not needed, or wait until old records are removed", FormatSize(l.Stored))
	}
	return &fault.Error{Code: fault.TooMany, Reason: "quota_exceeded", Message: message, RetryAfter: retryAfter}
}

var sizeUnits = []struct {
	name  string
	bytes int64
}{
	{"TB", 1e12}, {"GB", 1e9}, {"MB", 1e6}, {"KB", 1e3},
	{"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10},
}

// FormatSize formats a number of bytes in the largest unit that divides it.
func FormatSize(bytes int64) string {
	for _, u := range sizeUnits {
		if bytes >= u.bytes && bytes%u.bytes == 0 {
			return strconv.FormatInt(bytes/u.bytes, 10) + " " + u.name
		}
	}
	return strconv.FormatInt(bytes, 10) + " bytes"
}

// ParseSize parses a number of bytes: digits and an optional unit (KB, MB, GB, TB,
// KiB, MiB, GiB, TiB).
func ParseSize(text string) (bytes int64, ok bool) {
	unit := int64(1)
	for _, u := range sizeUnits {
		if len(text) > len(u.name) && text[len(text)-len(u.name):] == u.name {
			text, unit = text[:len(text)-len(u.name)], u.bytes
			break
		}
	}
	n, err := strconv.ParseUint(text, 10, 63)
	if err != nil || int64(n) > MaxCount/unit {
		return 0, false
	}
	return int64(n) * unit, true
}

// ParseCount parses a limit of records: a whole number from 0 to MaxCount.
func ParseCount(text string) (n int64, ok bool) {
	n, err := strconv.ParseInt(text, 10, 64)
	return n, err == nil && n >= 0 && n <= MaxCount
}

// MaxRate is the highest rate that can be set.
const MaxRate = 1e9

// ParseRate parses a number of calls per second, from 0 to MaxRate.
func ParseRate(text string) (r Rate, ok bool) {
	n, err := strconv.ParseFloat(text, 64)
	return Rate(n), err == nil && n >= 0 && n <= MaxRate // and not NaN
}

// MaxCount is the highest limit that can be set.
const MaxCount = int64(1e15)

// FormatOverrides formats an account's own limits in one line, by the names of
// their settings; 0 is unlimited.
func FormatOverrides(o identity.Overrides) string {
	var parts []string
	add := func(name, value string) { parts = append(parts, name+" "+value) }
	if o.Pending != nil {
		add("max-pending", strconv.FormatInt(*o.Pending, 10))
	}
	if o.Schedules != nil {
		add("max-schedules", strconv.FormatInt(*o.Schedules, 10))
	}
	if o.Stored != nil {
		add("max-stored", FormatSize(*o.Stored))
	}
	if o.Rate != nil {
		add("rate-limit", strconv.FormatFloat(*o.Rate, 'f', -1, 64))
	}
	if len(parts) == 0 {
		return "none of its own"
	}
	return strings.Join(parts, ", ")
}
