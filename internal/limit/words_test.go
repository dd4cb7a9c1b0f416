package limit

import (
	"testing"
	"time"
)

func TestLimit_InWords(t *testing.T) {
	t.Parallel()
	for want, l := range map[string]Limit{
		"no limit":                           {},
		"no limit, paused":                   {Paused: true},
		"100 calls in 1m, 5 at once, paused": {Calls: 100, Per: time.Minute, Parallel: 5, Paused: true},
		"1 at once":                          {Parallel: 1},
		"7 calls in 36h":                     {Calls: 7, Per: 36 * time.Hour},
		"7 calls in 1h0m5s":                  {Calls: 7, Per: time.Hour + 5*time.Second},
		"7 calls in 1h30m":                   {Calls: 7, Per: 90 * time.Minute},
		"1 call in 1s":                       {Calls: 1, Per: time.Second},
		"7 calls in 10s":                     {Calls: 7, Per: 10 * time.Second},
		"7 calls in 50ms":                    {Calls: 7, Per: 50 * time.Millisecond},
	} {
		if got := l.String(); got != want {
			t.Errorf("%+v: %q, want %q", l, got, want)
		}
	}
}
