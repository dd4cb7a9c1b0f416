package service

import (
	"testing"

	"github.com/punctual-dev/punctual/internal/fault"
)

func TestExports_BeginEnforcesLimitsPerAccountAndInAll(t *testing.T) {
	var e exports
	var ends []func()
	begin := func(account int64, want bool) {
		t.Helper()
		end, err := e.begin(account)
		if (err == nil) != want || err != nil && fault.CodeOf(err) != fault.TooMany {
			t.Fatalf("an export of account %d: %v", account, err)
		}
		if err == nil {
			ends = append(ends, end)
		}
	}
	for range MaxExports {
		begin(1, true)
	}
	begin(1, false)
	for account := int64(2); len(ends) < maxAllExports; account++ {
		begin(account, true)
	}
	begin(100, false)
	ends[0]()
	ends = ends[1:]
	begin(100, true)
	begin(1, false) // the limit of all accounts
	for _, end := range ends {
		end()
	}
	if e.all != 0 || len(e.accounts) != 0 {
		t.Errorf("still counted: %d, %v", e.all, e.accounts)
	}
}
