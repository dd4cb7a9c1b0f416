package edge

import (
	"math"
	"net/http"
	"net/netip"
	"strconv"
	"time"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/metrics"
	"github.com/punctual-dev/punctual/internal/quota"
)

// Rates counts requests by account and by network address, for the API and the
// dashboard together. Its memory is fixed.
type Rates struct {
	// Anonymous is the rate of each network address, for requests that don't come
	// from an account.
	Anonymous quota.Rate
	Metrics   *metrics.Metrics

	accounts  *quota.Meter[accountUse]
	addresses *quota.Meter[netip.Prefix]
	now       func() time.Time
}

// accountUse is what an account's requests are counted by.
type accountUse struct {
	number int64
	pages  bool // requests for pages, which don't use up the API's
}

// NewRates makes Rates.
func NewRates(anonymous quota.Rate, m *metrics.Metrics) *Rates {
	return &Rates{
		Anonymous: anonymous, Metrics: m,
		accounts: quota.NewMeter[accountUse](time.Now()), addresses: quota.NewMeter[netip.Prefix](time.Now()), now: time.Now,
	}
}

// Account counts a request to the API by its account, as in quota.Meter.Take,
// and says so in the response's header; a TooMany fault when it is one too many.
func (r *Rates) Account(header http.Header, number int64, rate quota.Rate, before, calls int64) error {
	return r.answer(header, "account", r.accounts.Take(accountUse{number: number}, rate, before, calls, r.now()))
}

// minPageRate is how many pages a second an account gets at least: an open page
// fetches several parts at once.
const minPageRate = quota.Rate(10)

// Pages counts a request for a page by the account that is signed in. Pages are
// counted apart from the API, so that a busy program doesn't lock its owner out.
func (r *Rates) Pages(header http.Header, number int64, rate quota.Rate) error {
	if rate > 0 {
		rate = max(rate, minPageRate)
	}
	return r.answer(header, "account", r.accounts.Take(accountUse{number, true}, rate, 0, 1, r.now()))
}

// Address counts a request that doesn't come from an account by its network.
func (r *Rates) Address(header http.Header, request *http.Request) error {
	return r.answer(header, "address", r.addresses.Take(Network(request), r.Anonymous, 0, 1, r.now()))
}

// ReturnAddress takes back what Address has counted: the request turned out to
// come from an account.
func (r *Rates) ReturnAddress(header http.Header, request *http.Request) {
	header.Del("RateLimit-Policy")
	header.Del("RateLimit")
	r.addresses.Return(Network(request), r.Anonymous, r.now())
}

// Network returns the network that a request is counted by: its IPv4 address,
// or the /64 that its IPv6 address is in.
func Network(r *http.Request) netip.Prefix {
	address := ClientAddr(r)
	bits := 32
	if address.Is6() {
		bits = 64
	}
	prefix, err := address.Prefix(bits)
	if err != nil {
		return netip.Prefix{} // all without an address together
	}
	return prefix
}

// messages say what to do about a rate that was exceeded.
var messages = map[string]string{
	"account": "too many calls a second for this account; wait as long as Retry-After says",
	"address": "too many calls a second from this network without a valid key; wait as long as Retry-After says",
}

// answer sets the header fields of draft-ietf-httpapi-ratelimit-headers, and
// makes a fault of a request that is not allowed.
func (r *Rates) answer(header http.Header, policy string, count quota.Count) error {
	if count.Rate == 0 {
		return nil
	}
	calls, seconds := count.Rate.Policy()
	whole := func(d time.Duration) int64 { return max(1, int64(math.Ceil(d.Seconds()))) }
	header.Set("RateLimit-Policy", `"`+policy+`";q=`+strconv.FormatInt(calls, 10)+`;w=`+strconv.FormatInt(seconds, 10))
	header.Set("RateLimit", `"`+policy+`";r=`+strconv.FormatInt(count.Left, 10)+`;t=`+strconv.FormatInt(whole(count.Reset), 10))
	if count.Allowed {
		return nil
	}
	r.Metrics.Refused(policy + "_rate")
	return &fault.Error{Code: fault.TooMany, Message: messages[policy], RetryAfter: max(count.Wait, time.Millisecond)}
}
