package edge

import (
	"math"
	"net/http"
	"net/netip"
	"strconv"
	"time"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/metrics"
	"github.com/punctual-dev/punctual/internal/network"
	"github.com/punctual-dev/punctual/internal/quota"
)

// Rates limits requests by account and by network, for the API and the dashboard
// together. It uses a fixed amount of memory.
type Rates struct {
	// Anonymous is the rate of each network, for requests without an account.
	Anonymous quota.Rate
	Metrics   *metrics.Metrics

	accounts  *quota.Meter[accountUse]
	addresses *quota.Meter[netip.Prefix]
	now       func() time.Time
}

// accountUse is the key by which an account's requests are counted.
type accountUse struct {
	number int64
	pages  bool // requests for pages, counted separately from the API
}

// NewRates returns Rates.
func NewRates(anonymous quota.Rate, m *metrics.Metrics) *Rates {
	return &Rates{
		Anonymous: anonymous, Metrics: m,
		accounts: quota.NewMeter[accountUse](time.Now()), addresses: quota.NewMeter[netip.Prefix](time.Now()), now: time.Now,
	}
}

// Account counts a request to the API by its account, as in quota.Meter.Take, and
// sets the response's header. It returns a TooMany fault if the rate is exceeded.
func (r *Rates) Account(header http.Header, number int64, rate quota.Rate, before, calls int64) error {
	return r.answer(header, "account", r.accounts.Take(accountUse{number: number}, rate, before, calls, r.now()))
}

// Left returns how many calls of the API an account can make at once, on this node.
func (r *Rates) Left(number int64, rate quota.Rate) int64 {
	return r.accounts.Take(accountUse{number: number}, rate, 0, 0, r.now()).Left
}

// minPageRate is the lowest rate of pages for an account, because an open page
// fetches several parts at once.
const minPageRate = quota.Rate(10)

// Pages counts a request for a page by the signed-in account. Pages are counted
// separately from the API, so that a busy program doesn't lock its owner out.
func (r *Rates) Pages(header http.Header, number int64, rate quota.Rate) error {
	if rate > 0 {
		rate = max(rate, minPageRate)
	}
	return r.answer(header, "account", r.accounts.Take(accountUse{number, true}, rate, 0, 1, r.now()))
}

// Address counts a request without an account by its network.
func (r *Rates) Address(header http.Header, request *http.Request) error {
	return r.answer(header, "address", r.addresses.Take(Network(request), r.Anonymous, 0, 1, r.now()))
}

// ReturnAddress undoes Address, for a request that turned out to have an account.
func (r *Rates) ReturnAddress(header http.Header, request *http.Request) {
	header.Del("RateLimit-Policy")
	header.Del("RateLimit")
	r.addresses.Return(Network(request), r.Anonymous, 1, r.now())
}

// Network returns the network that a request is counted by: its IPv4 address,
// or the /64 that its IPv6 address is in.
func Network(r *http.Request) netip.Prefix {
	return network.Of(ClientAddr(r))
}

// messages are the error messages for exceeded rates.
var messages = map[string]string{
	"account": "too many calls per second for this account; try again after Retry-After seconds",
	"address": "too many calls per second from this network without a valid key; try again after Retry-After seconds",
}

// answer sets the header fields of draft-ietf-httpapi-ratelimit-headers, and returns
// a TooMany fault for a request that is not allowed.
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
