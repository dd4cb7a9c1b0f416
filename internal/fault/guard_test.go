package fault

import (
	"errors"
	"strings"
	"testing"
)

func TestGuardMakesAnErrorOfAPanic(t *testing.T) {
	err := Guard(func() error { panic("out of range") })
	if err == nil || !strings.Contains(err.Error(), "panic: out of range") || !strings.Contains(err.Error(), "guard_test.go") {
		t.Errorf("the error is %v, want the panic and its stack", err)
	}
	known := errors.New("known")
	if err := Guard(func() error { return known }); err != known {
		t.Errorf("the error is %v, want the function's own", err)
	}
	if err := Guard(func() error { return nil }); err != nil {
		t.Errorf("the error is %v, want none", err)
	}
}
