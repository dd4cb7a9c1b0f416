package job

import (
	"net/url"
	"strings"
	"testing"
)

func TestListenerOf_SplitsTheName(t *testing.T) {
	for target, want := range map[string][2]string{
		"https://listen.invalid/dev/hook/a%2Fb?x=1": {"dev", "/hook/a%2Fb"},
		"https://listen.invalid/dev":                {"dev", "/"},
		"https://listen.invalid/dev/":               {"dev", "/"},
		"https://listen.invalid/d.e-v_2//x":         {"d.e-v_2", "//x"},
		"https://listen.invalid/":                   {"", ""},
		"https://listen.invalid//x":                 {"", ""},
		"https://listen.invalid/Dev/x":              {"", ""},
		"https://listen.invalid/d%65v/x":            {"", ""},
		"https://listen.invalid/-dev/x":             {"", ""},
	} {
		u, err := url.Parse(target)
		if err != nil {
			t.Fatal(err)
		}
		if name, path := ListenerOf(u); name != want[0] || path != want[1] {
			t.Errorf("%s: %q %q, want %q", target, name, path, want)
		}
	}
}

func TestWhyNotTarget_OfListeners(t *testing.T) {
	checked := ""
	opts := ReadOptions{AllowHTTP: true, CheckHost: func(host string) string { checked = host; return "" }}
	for target, want := range map[string]string{
		"https://listen.invalid/dev/hook":  "",
		"https://LISTEN.invalid/dev":       "",
		"https://listen.invalid":           "must name a listener",
		"https://listen.invalid/DEV":       "must name a listener",
		"https://listen.invalid:8443/dev":  "must not have a port",
		"http://listen.invalid/dev":        "must use https",
		"https://a.listen.invalid/DEV":     "",
		"https://u:p@listen.invalid/dev/x": "must not contain user info",
	} {
		checked = ""
		if why := WhyNotTarget(target, opts); (why == "") != (want == "") || !strings.HasPrefix(why, want) {
			t.Errorf("%s: %q, want %q", target, why, want)
		}
		if want == "" && checked == "" {
			t.Errorf("%s: the host was not checked", target)
		}
	}
	if why := CheckURL("https://listen.invalid/dev/token", nil); !strings.HasPrefix(why, "must not have the host listen.invalid") {
		t.Errorf("a token's URL: %q", why)
	}
}
