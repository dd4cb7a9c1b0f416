package job

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/rawjson"
)

const (
	// usualCreate is a create of usual size.
	usualCreate = `{"method":"post","url":"https://example.com/hook","scheduled_at":"2026-03-04T13:00:00.123456Z","body":{"author":"alex","content":"Hello world!",` +
		`"tags":["a","b","c"],"count":12345678901234567890,"nested":{"deep":{"er":[1,2,3,4.50,true,null]}},` +
		`"padding":"abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijkl"}}`
	// fullCreate uses everything there is.
	fullCreate = `{"method":"PUT","url":"https://example.com/hook?x=1","query":{"a":[1,2],"b":{"c":"d"}},"headers":{"Content-Type":"application/json","X-One":["1","2"]},` +
		`"body":{"sent":"$state.sent","before":"$previous.items.0.id","me":"$job"},"repeat_every":[90,"seconds"],"schedule_in":[1.5,"minutes"],` +
		`"idempotency_key":"order-1","name":"Order","description":"Tells the shop","callback_url":"https://example.com/cb","webhook_url":"https://example.com/wh",` +
		`"retries":5,"timeout":12.5,"metadata":true}`
)

var creates = []struct{ name, text string }{{"usual", usualCreate}, {"full", fullCreate}}

// BenchmarkRead decodes and checks a create request, as each call of the API does.
func BenchmarkRead(b *testing.B) {
	for _, c := range creates {
		b.Run(c.name, func(b *testing.B) {
			body := []byte(c.text)
			b.ReportAllocs()
			b.SetBytes(int64(len(body)))
			for b.Loop() {
				value, err := rawjson.Read(body)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := Read(value, ReadOptions{Now: noon}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func benchmarkJob(b *testing.B, text string) *Job {
	b.Helper()
	draft, err := Read(rawjson.Value(text), ReadOptions{Now: noon})
	if err != nil {
		b.Fatal(err)
	}
	return &Job{
		Number: 29180, ID: NewID(noon), Owner: Owner{ID: uuid.New(), Number: 7}, Key: draft.Key, Name: draft.Name,
		Description: draft.Description,
		InsertedAt:  noon, ScheduledAt: draft.ScheduledAt, DueAt: draft.DueAt, State: Available, Args: draft.Args,
	}
}

// BenchmarkReadSpec reads stored args for an attempt.
func BenchmarkReadSpec(b *testing.B) {
	for _, c := range creates {
		b.Run(c.name, func(b *testing.B) {
			j := benchmarkJob(b, c.text)
			b.ReportAllocs()
			for b.Loop() {
				ReadSpec(j.Args)
			}
		})
	}
}

// BenchmarkRender renders the request of an attempt.
func BenchmarkRender(b *testing.B) {
	for _, c := range creates {
		b.Run(c.name, func(b *testing.B) {
			j := benchmarkJob(b, c.text)
			spec := ReadSpec(j.Args)
			schedule := &Schedule{State: rawjson.Value(`{"sent":3}`), Previous: rawjson.Value(`{"items":[{"id":"x"}]}`)}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Render(&spec, NewDynamic(j.Number, schedule)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkAppendJob writes a record, as each response and each delivery does.
func BenchmarkAppendJob(b *testing.B) {
	for _, c := range creates {
		b.Run(c.name, func(b *testing.B) {
			j := benchmarkJob(b, c.text)
			j.Complete(noon.Add(time.Second))
			var record []byte
			b.ReportAllocs()
			for b.Loop() {
				record = AppendJob(record[:0], j, false)
			}
			b.SetBytes(int64(len(record)))
		})
	}
}

// BenchmarkAppendLog writes the record of a log.
func BenchmarkAppendLog(b *testing.B) {
	j := benchmarkJob(b, usualCreate)
	spec := ReadSpec(j.Args)
	o, err := Render(&spec, NewDynamic(j.Number, nil))
	if err != nil {
		b.Fatal(err)
	}
	payload := o.AppendPayload(nil)
	l := &Log{ID: NewID(noon), Owner: j.Owner, Job: j.Number, Event: EventRequest, InsertedAt: noon, Payload: payload}
	var record []byte
	b.ReportAllocs()
	for b.Loop() {
		record = AppendLog(record[:0], l)
	}
	b.SetBytes(int64(len(record)))
}

// BenchmarkLane hashes a receiver's origin.
func BenchmarkLane(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		Lane("https://hooks.example.com:8443/services/a/b?c=d")
	}
}
