package edge

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/metrics"
	"github.com/punctual-dev/punctual/internal/quota"
)

// from is a request from an address.
func from(address string) *http.Request {
	r := httptest.NewRequest("GET", "/", nil)
	r.RemoteAddr = address
	return r
}

// rates are Rates whose clock stands still.
func rates(anonymous quota.Rate) (*Rates, *time.Time) {
	r := NewRates(anonymous, metrics.New("test"))
	now := time.Now()
	r.now = func() time.Time { return now }
	return r, &now
}

func TestNetworks(t *testing.T) {
	for address, want := range map[string]string{
		"192.0.2.1:80": "192.0.2.1/32", "[2001:db8:1:2:3:4:5:6]:80": "2001:db8:1:2::/64", "[::ffff:192.0.2.1]:80": "192.0.2.1/32",
		"[fe80::1%eth0]:80": "fe80::/64", "": "invalid Prefix", "@": "invalid Prefix",
	} {
		if got := Network(from(address)).String(); got != want {
			t.Errorf("%q is in %s, want %s", address, got, want)
		}
	}
}

func TestRequestsAreCountedByNetwork(t *testing.T) {
	r, now := rates(2)
	header := http.Header{}
	ask := func(address string) error { return r.Address(header, from(address)) }
	for _, address := range []string{"[2001:db8::1]:1", "[2001:db8::2]:2"} {
		if err := ask(address); err != nil {
			t.Errorf("%s: %v", address, err)
		}
	}
	err := ask("[2001:db8::3]:3")
	var f *fault.Error
	if !errors.As(err, &f) || f.Code != fault.TooMany || f.RetryAfter != 500*time.Millisecond {
		t.Errorf("a third request from one network: %v", err)
	}
	if got := header.Get("RateLimit-Policy") + " " + header.Get("RateLimit"); got != `"address";q=2;w=1 "address";r=0;t=1` {
		t.Errorf("the headers are %s", got)
	}
	if err := ask("[2001:db8:0:1::1]:1"); err != nil {
		t.Errorf("another network: %v", err)
	}
	*now = now.Add(500 * time.Millisecond)
	for range 3 {
		if err := ask("[2001:db8::4]:4"); err != nil {
			t.Errorf("after the wait: %v", err)
		}
		r.ReturnAddress(header, from("[2001:db8::5]:5"))
	}
	if len(header) > 0 {
		t.Errorf("a request that was taken back has %v", header)
	}
}

func TestPagesAreCountedApart(t *testing.T) {
	r, _ := rates(0)
	header := http.Header{}
	count := func(ask func() error) (n int) {
		for range 100 {
			if ask() == nil {
				n++
			}
		}
		return n
	}
	for rate, want := range map[quota.Rate]int{3: 10, 50: 50, 0: 100} {
		account := int64(rate) + 1
		if got := count(func() error { return r.Pages(header, account, rate) }); got != want {
			t.Errorf("%v a second: %d pages, want %d", rate, got, want)
		}
	}
	if got := count(func() error { return r.Account(header, 4, 3, 0, 1) }); got != 3 {
		t.Errorf("%d calls after the pages, want 3", got)
	}
	if got := count(func() error { return r.Address(header, from("192.0.2.1:80")) }); got != 100 {
		t.Errorf("%d requests by address without a limit", got)
	}
}
