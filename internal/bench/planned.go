package bench

import (
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/punctual-dev/punctual/internal/job"
)

// planned is a job to be created.
type planned struct {
	number  int64
	due     time.Time
	create  time.Time // when; zero: at once
	url     string
	options string // more members, as in `,"timeout":10`
	body    int    // bytes of its request's body; 0: bodyBytes
}

const (
	bodyBytes = 300
	alphabet  = "abcdefghijklmnopqrstuvwxyz"
)

// appendBody appends a job's body: that many bytes of JSON.
func appendBody(b []byte, number int64, bytes int) []byte {
	start := len(b)
	b = append(b, bodyHead...)
	b = strconv.AppendInt(b, number, 10)
	b = append(b, `,"kind":"punctual bench","padding":"`...)
	for len(b)-start < bytes-2 {
		from := (len(b) - start) % len(alphabet)
		b = append(b, alphabet[from:min(len(alphabet), from+bytes-2-(len(b)-start))]...)
	}
	return append(b, `"}`...)
}

// appendCreate appends the body of the call that creates the job.
func (p *planned) appendCreate(b []byte) []byte {
	b = append(b, `{"method":"post","url":"`...)
	b = append(b, p.url...)
	b = append(b, `","scheduled_at":"`...)
	b = append(b, job.FormatTime(p.due)...)
	b = append(b, '"')
	b = append(b, p.options...)
	b = append(b, `,"body":`...)
	bytes := bodyBytes
	if p.body > 0 {
		bytes = p.body
	}
	b = appendBody(b, p.number, bytes)
	return append(b, '}')
}

// plan makes n jobs with numbers of their own and the round that expects them.
// A job is called at one of the urls, in turns.
func (b *bench) plan(n int, urls []string, due func(i int) time.Time) ([]planned, *round) {
	first := b.numbers.Add(int64(n)) - int64(n) + 1
	jobs, expected := make([]planned, n), newRound(first, n)
	for i := range jobs {
		jobs[i] = planned{number: first + int64(i), due: due(i).Truncate(time.Microsecond), url: urls[i%len(urls)] + pathJob}
		expected.due[i] = jobs[i].due
	}
	return jobs, expected
}

// spread returns the times of a steady load: rate a second from start on, each at
// a random instant of its share of the second.
func spread(start time.Time, rate float64) func(i int) time.Time {
	return func(i int) time.Time {
		return start.Add(time.Duration((float64(i) + rand.Float64()) / rate * float64(time.Second)))
	}
}
