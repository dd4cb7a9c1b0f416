package lifecycle

import (
	"testing"
	"time"

	"github.com/punctual-dev/punctual/internal/store"
)

const usualArgs = `{"method":"post","url":"https://example.com/hook","body":{"author":"alex","content":"Hello world!","padding":"abcdefghijklmnopqrstuvwxyz` +
	`abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijklmnop"},"headers":{}`

// attempts are the attempts that Begin, Claim and Finish are measured with.
var attempts = []struct {
	name  string
	args  string
	items func(args string) *store.QueueItem
}{
	{"plain", usualArgs + `}`, oneOff},
	{"hooks", usualArgs + `,` + hooks + `}`, oneOff},
	{"recurring", usualArgs + `,"repeat_every":60}`, recurring},
}

// BenchmarkBegin measures preparing an attempt and its claim.
func BenchmarkBegin(b *testing.B) {
	for _, c := range attempts {
		b.Run(c.name, func(b *testing.B) {
			item := c.items(c.args)
			b.ReportAllocs()
			for b.Loop() {
				a := Begin(item, due, nil)
				a.Claim()
			}
		})
	}
}

// BenchmarkFinish measures what is decided when an attempt has ended.
func BenchmarkFinish(b *testing.B) {
	outcomes := []struct {
		name   string
		status int
	}{{"completed", 200}, {"failed", 500}}
	for _, c := range attempts {
		for _, end := range outcomes {
			b.Run(c.name+"/"+end.name, func(b *testing.B) {
				item := c.items(c.args)
				o := respond(end.status, `{"ok":true,"received":"2026-03-04T12:00:00Z","id":"0123456789abcdef"}`)
				a := Begin(item, due, nil)
				ended := due.Add(time.Second)
				snapshot := &store.Snapshot{Now: ended, Job: item.Job, Schedule: item.Schedule}
				b.ReportAllocs()
				for b.Loop() {
					a.Finish(1, o, Span{Began: due, Ended: ended}).Decide(snapshot)
				}
			})
		}
	}
}
