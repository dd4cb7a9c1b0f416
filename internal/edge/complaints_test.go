package edge

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestComplaints_LogsUnavailableCallsTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		log := slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		}}))
		var c Complaints
		for range 100 {
			c.Log(log, "failed", 503)
			time.Sleep(60 * time.Millisecond)
		}
		c.Log(log, "failed", 500)
		c.Log(log, "failed", 500)
		want := strings.Join([]string{
			"level=ERROR msg=failed status=503", "level=ERROR msg=failed status=503 left_out=83",
			"level=ERROR msg=failed status=500", "level=ERROR msg=failed status=500", "",
		}, "\n")
		if got := out.String(); got != want {
			t.Errorf("logged:\n%swant:\n%s", got, want)
		}
	})
}
