package cli

import (
	"strings"
	"testing"
)

func TestWhatIsNoPublicURL(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"punctual.example.com", "ftp://punctual.example.com", "https://", "https://:443", "https://u:p@punctual.example.com",
		"//punctual.example.com",
		"https://punctual.example.com/below", "https://punctual.example.com/?", "https://punctual.example.com/?a=b",
		"https://punctual.example.com#top", "https://a b.example",
	} {
		if _, problem := parse(t, "serve", "--public-url="+text); !strings.HasPrefix(problem,
			"--public-url must be a scheme and a host, as in https://punctual.example.com") {
			t.Errorf("%s: %q", text, problem)
		}
	}
}

func TestWhatIsNoProxy(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"proxy.example.com", "10.0.0.0/33", "10.0.0.1;10.0.0.2", ","} {
		if _, problem := parse(t, "serve", "--trusted-proxies="+text); !strings.HasPrefix(problem,
			"--trusted-proxies must be networks like 10.0.0.0/8") {
			t.Errorf("%s: %q", text, problem)
		}
	}
	if got, problem := parse(t, "serve", "--trusted-proxies=10.0.0.1, fd00::/8"); problem != "" || len(got.Serve.TrustedProxies) != 2 {
		t.Errorf("two networks are read as %v %s", got, problem)
	}
}
