package service

import "testing"

func TestAlerts_BeginEnforcesLimitsPerAccountAndInAll(t *testing.T) {
	t.Parallel()
	s := NewAlerts(AlertsConfig{})
	begin := func(account int64, want bool) {
		t.Helper()
		if got := s.begin(account); got != want {
			t.Fatalf("a test of account %d may begin: %t, want %t; %d are under way", account, got, want, s.tests)
		}
	}
	var begun []int64
	for account := int64(1); len(begun) < maxTests; account++ {
		for range maxTestsOf {
			begin(account, true)
			begun = append(begun, account)
		}
		begin(account, false)
	}
	begin(1000, false)
	s.end(begun[0])
	begin(1000, true) // in place of the one that has ended
	begin(begun[0], false)
	for _, account := range append(begun[1:], 1000) {
		s.end(account)
	}
	if s.tests != 0 || len(s.testing) != 0 {
		t.Errorf("still counted: %d, %v", s.tests, s.testing)
	}
}
