package cli

import "testing"

func TestReachable_IsOnThisMachine(t *testing.T) {
	t.Parallel()
	for listen, want := range map[string]string{
		"127.0.0.1:8080": "127.0.0.1:8080", "0.0.0.0:8080": "127.0.0.1:8080", ":80": "127.0.0.1:80", "[::]:8080": "[::1]:8080",
		"[::1]:9": "[::1]:9", "10.0.0.5:8080": "10.0.0.5:8080", "localhost:1": "localhost:1",
	} {
		if got, err := reachable(listen); err != nil || got != want {
			t.Errorf("%s: %q, %v, want %q", listen, got, err, want)
		}
	}
	for _, listen := range []string{"", "8080", "127.0.0.1:0", "127.0.0.1:", "::1:1"} {
		if got, err := reachable(listen); err == nil {
			t.Errorf("%q: %q, want an error", listen, got)
		}
	}
}
