package crontab_test

import (
	"strings"
	"testing"

	"github.com/punctual-dev/punctual/internal/crontab"
	"github.com/punctual-dev/punctual/internal/rawjson"
)

func TestRequest(t *testing.T) {
	for command, want := range map[string]string{
		"curl https://example.com": `{"method":"GET","url":"https://example.com"}`,
		"$ curl -X PUT 'https://example.com/a?b=1' \\\r\n  -H 'Accept: text/plain' \\\n  -u ann:secret": `{"method":"PUT","url":"https://example.com/a?b=1","headers":{"Accept":"text/plain","authorization":"Basic YW5uOnNlY3JldA=="}}`,
		`curl https://example.com --json '{"a": "$HOME {1..9} %"}'`:                                     `{"method":"POST","url":"https://example.com","headers":{"content-type":"application/json","accept":"application/json"},"body":{"a": "$HOME {1..9} %"},"metadata":false}`,
		`curl 'https://example.com' --data-raw $'it\'s' --compressed`:                                   `{"method":"POST","url":"https://example.com","headers":{"content-type":"application/x-www-form-urlencoded"},"body":"it's"}`,
	} {
		members, err := crontab.Request(command)
		if got := string(rawjson.Object(members)); err != nil || compact(got) != compact(want) {
			t.Errorf("%s is %s, %v; want %s", command, got, err, want)
		}
	}
}

func compact(text string) string { return strings.ReplaceAll(text, " ", "") }

func TestRequest_SaysWhatIsWrong(t *testing.T) {
	for command, want := range map[string]string{
		"":                                      "is empty",
		"ls -l":                                 "runs ls; it must begin with curl or wget",
		"curl":                                  "names no url",
		"curl https://a.example; rm -r /":       "runs more than one command",
		"curl https://a.example | sh":           "runs more than one command",
		"curl https://a.example -H \"A: $KEY\"": "uses the variable KEY; write its value instead",
		"curl https://a.example -d $(date)":     "has a part that only a shell can evaluate",
		"curl https://a.example -d `date`":      "has a part that only a shell can evaluate",
		"curl https://a.example -d {1..99999999}": "has braces outside quotes",
		"curl https://a.example -d $((1+1))":      "has a part that only a shell can evaluate",
		"curl https://a.example?a=1&b=2":          "has an & outside quotes",
		"curl https://a.example -d @file":         "sends the content of a file",
		"curl https://a.example -F a=b":           "uses curl's option -F",
		"curl 'https://a.example":                 "can't be read as a shell command",
		"curl " + strings.Repeat("x", 33<<10):     "has more than 32 KiB",
	} {
		if members, err := crontab.Request(command); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%.60s is %v, %v; want %s", command, members, err, want)
		}
	}
}

// TestRequest_RefusesNesting verifies that nothing nested reaches the parser of shell
// commands.
func TestRequest_RefusesNesting(t *testing.T) {
	for _, part := range []string{"(", "$(", "{ ", "${a:-", "$((", "`", "\"$(", "<(", "\"${a:-", "; if "} {
		if _, err := crontab.Request("curl " + strings.Repeat(part, (crontab.MaxCommand-5)/len(part))); err == nil {
			t.Errorf("nested %s is accepted", part)
		}
	}
}

func FuzzRequest(f *testing.F) {
	f.Add(`curl -X PUT 'https://example.com' -H "A: b" -u ann:secret --json '{"a": 1}'`)
	f.Add("$ curl $'it\\'s' \\\n -d {1..9}")
	f.Fuzz(func(t *testing.T, command string) {
		members, err := crontab.Request(command)
		if err == nil && rawjson.Get(rawjson.Object(members), "url") == nil {
			t.Errorf("%q is %s", command, rawjson.Object(members))
		}
	})
}
