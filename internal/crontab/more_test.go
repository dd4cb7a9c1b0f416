package crontab_test

import (
	"testing"

	"github.com/punctual-dev/punctual/internal/crontab"
)

func TestParse_SynonymsLocksAndRandomSleeps(t *testing.T) {
	for line, want := range map[string]string{
		"@midnight curl https://example.com/":                                      `{"cron":"@daily","method":"GET","url":"https://example.com/"}`,
		"0 * * * * flock -n /tmp/x.lock curl https://example.com/":                 `{"cron":"0 * * * *","method":"GET","url":"https://example.com/"}`,
		"0 * * * * flock -w 5 /tmp/x -c 'curl https://example.com/'":               `{"cron":"0 * * * *","method":"GET","url":"https://example.com/"}`,
		`0 * * * * sleep $((RANDOM \% 60)); curl https://example.com/`:             `{"cron":"0 * * * *","jitter":60,"method":"GET","url":"https://example.com/"}`,
		`0 * * * * /bin/sleep $(( $RANDOM \% 300 ))s && curl https://example.com/`: `{"cron":"0 * * * *","jitter":300,"method":"GET","url":"https://example.com/"}`,
		`0 * * * * curl https://e.test/ || echo "down" >> /tmp/log`:                `{"cron":"0 * * * *","method":"GET","url":"https://e.test/"}`,
	} {
		if got, err := only(t, line, crontab.Options{}); err != nil || got != want {
			t.Errorf("%s: got %s, %v, want %s", line, got, err, want)
		}
	}
	for _, line := range []string{"0 * * * * sleep 30; curl https://example.com/", "0 * * * * flock /tmp/x", "0 * * * * flock"} {
		if got, err := only(t, line, crontab.Options{}); err == nil {
			t.Errorf("%s: got %s", line, got)
		}
	}
}
