package qstash

import (
	"net/http"
	"testing"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
)

// BenchmarkRead compares what a publish costs until its job is known with what a create
// of the same job through the service's own API costs.
func BenchmarkRead(b *testing.B) {
	const to, body = "https://example.com/reminders", `{"to":"alex","text":"the meeting begins in five minutes"}`
	b.Run("publish", func(b *testing.B) {
		header := http.Header{
			"Content-Type": {"application/json"}, "Upstash-Method": {"POST"}, "Upstash-Delay": {"30m"}, "Upstash-Retries": {"3"},
			"Upstash-Forward-X-Tenant": {"7"}, "User-Agent": {"undici"}, "Accept": {"*/*"},
		}
		for b.Loop() {
			options, err := ReadOptions(header)
			if err != nil {
				b.Fatal(err)
			}
			m := &message{Options: options, to: destination{url: to}, body: []byte(body)}
			if _, err := job.Read(m.create("192.0.2.1"), job.ReadOptions{}); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("create", func(b *testing.B) {
		request := rawjson.Value(`{"url":"` + to +
			`","method":"post","headers":{"Content-Type":"application/json","X-Tenant":"7"},"body":` + body +
			`,"schedule_in":1800,"retries":3}`)
		for b.Loop() {
			if _, err := job.Read(request, job.ReadOptions{}); err != nil {
				b.Fatal(err)
			}
		}
	})
}
