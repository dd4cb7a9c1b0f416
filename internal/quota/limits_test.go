package quota

import (
	"testing"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/identity"
	"github.com/punctual-dev/punctual/internal/store"
)

func ref[T any](v T) *T { return &v }

func TestOf_PrefersTheAccountsOwnLimits(t *testing.T) {
	service := Defaults{Pending: ref(int64(50)), Stored: ref(int64(0)), Rate: 5, PublicRate: 7}
	own := identity.Overrides{Pending: ref(int64(0)), Schedules: ref(int64(3)), Rate: ref(1.5)}
	for _, c := range []struct {
		what     string
		defaults Defaults
		account  identity.Overrides
		public   bool
		want     Limits
	}{
		{"nothing set", Defaults{}, identity.Overrides{}, false, Limits{}},
		{"the service's", service, identity.Overrides{}, false, Limits{Pending: 50, Rate: 5}},
		{"the account's", service, own, false, Limits{Schedules: 3, Rate: 1.5}},
		{"public", Defaults{PublicRate: 10}, identity.Overrides{}, true,
			Limits{Pending: 1000, Schedules: 20, Stored: 100_000_000, Rate: 10}},
		{"public, the service's", service, identity.Overrides{}, true, Limits{Pending: 50, Schedules: 20, Rate: 7}},
		{"public, its own", service, own, true, Limits{Schedules: 3, Rate: 1.5}},
	} {
		if got := c.defaults.Of(&identity.Account{Limits: c.account}, c.public); got != c.want {
			t.Errorf("%s: %+v, want %+v", c.what, got, c.want)
		}
	}
}

func TestExceeded_Messages(t *testing.T) {
	l := Limits{Pending: 4, Schedules: 2, Stored: 100_000_000}
	for q, want := range map[store.Quota]string{
		store.QuotaPending:   "the account has reached its limit of 4 unfinished one-off jobs (max-pending); nothing was stored: wait until pending jobs have run, or cancel some, then try again",
		store.QuotaSchedules: "the account has reached its limit of 2 schedules, disabled ones included (max-schedules); nothing was stored: delete a schedule, then try again",
		store.QuotaStored:    "the account's records take up more than its limit of 100 MB (max-stored); nothing was stored: delete what is not needed, or wait until old records are removed",
	} {
		err := l.Exceeded(q)
		if fault.CodeOf(err) != fault.TooMany || err.Error() != want {
			t.Errorf("%s: %v", q, err)
		}
	}
}

func TestParseSize_AndFormatSize(t *testing.T) {
	for text, want := range map[string]int64{
		"0": 0, "1": 1, "999": 999, "1KB": 1000, "100MB": 100_000_000, "2GiB": 2 << 30, "1TiB": 1 << 40, "10TB": 1e13, "1000TB": 1e15,
	} {
		if got, ok := ParseSize(text); !ok || got != want {
			t.Errorf("%s is %d, %t", text, got, ok)
		}
	}
	for _, text := range []string{"", "MB", "-1", "1.5MB", "1 MB", "1mb", "1B", "1001TB", "99999999999999999999", "0x1", "1e3", "+1",
		"1_000", "9223372036854775807TiB"} {
		if got, ok := ParseSize(text); ok {
			t.Errorf("%q is read as %d", text, got)
		}
	}
	for n, want := range map[int64]string{0: "0 bytes", 1: "1 bytes", 1500: "1500 bytes", 20_000: "20 KB", 2 << 30: "2 GiB",
		100_000_000: "100 MB"} {
		if got := FormatSize(n); got != want {
			t.Errorf("%d is written %q, want %q", n, got, want)
		}
	}
}

func TestParseCount_AndParseRate(t *testing.T) {
	for text, ok := range map[string]bool{"0": true, "1": true, "1000000000000000": true, "1000000000000001": false, "-1": false,
		"1.5": false, "": false, "many": false} {
		if _, got := ParseCount(text); got != ok {
			t.Errorf("count %q: %t", text, got)
		}
	}
	for text, ok := range map[string]bool{"0": true, "2.5": true, "1e9": true, "1e10": false, "-1": false, "NaN": false, "Inf": false,
		"": false} {
		if _, got := ParseRate(text); got != ok {
			t.Errorf("rate %q: %t", text, got)
		}
	}
}

func FuzzParseSize(f *testing.F) {
	for _, text := range []string{"0", "100MB", "2GiB", "x", "9999999999999999TB"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		n, ok := ParseSize(text)
		if !ok {
			return
		}
		if n < 0 || n > MaxCount {
			t.Errorf("%q is %d", text, n)
		}
	})
}

func TestFormatOverrides(t *testing.T) {
	n, zero, size, rate := int64(1000), int64(0), int64(5_000_000), 2.5
	for want, o := range map[string]identity.Overrides{
		"none of its own": {},
		"max-pending 1000, max-schedules 0, max-stored 5 MB, rate-limit 2.5": {Pending: &n, Schedules: &zero, Stored: &size, Rate: &rate},
	} {
		if got := FormatOverrides(o); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
