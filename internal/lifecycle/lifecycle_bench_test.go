package lifecycle

import (
	"testing"
	"time"

	"github.com/punctual-dev/punctual/internal/store"
)

const usualArgs = `{"method":"post","url":"https://example.com/hook","body":{"author":"alex","content":"Hello world!","padding":"abcdefghijklmnopqrstuvwxyz` +
	`abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijklmnop"},"headers":{}`

// attempts are what Begin, Claim and Finish are measured with.
var attempts = []struct {
	name string
	args string
	runs func(args string) *store.QueueItem
}{
	{"plain", usualArgs + `}`, oneOff},
	{"hooks", usualArgs + `,` + hooks + `}`, oneOff},
	{"recurring", usualArgs + `,"repeat_every":60}`, recurring},
}

// BenchmarkBegin prepares an attempt, and what is stored with its claim.
func BenchmarkBegin(b *testing.B) {
	for _, c := range attempts {
		b.Run(c.name, func(b *testing.B) {
			run := c.runs(c.args)
			b.ReportAllocs()
			for b.Loop() {
				a := Begin(run, due)
				a.Claim()
			}
		})
	}
}

// BenchmarkFinish decides what is stored when an attempt has ended.
func BenchmarkFinish(b *testing.B) {
	outcomes := []struct {
		name   string
		status int
	}{{"completed", 200}, {"failed", 500}}
	for _, c := range attempts {
		for _, end := range outcomes {
			b.Run(c.name+"/"+end.name, func(b *testing.B) {
				run := c.runs(c.args)
				o := answer(end.status, `{"ok":true,"received":"2026-03-04T12:00:00Z","id":"0123456789abcdef"}`)
				a := Begin(run, due)
				ended := due.Add(time.Second)
				moment := &store.Snapshot{Now: ended, Job: run.Job, Schedule: run.Schedule}
				b.ReportAllocs()
				for b.Loop() {
					a.Finish(1, o, due, ended).Decide(moment)
				}
			})
		}
	}
}
