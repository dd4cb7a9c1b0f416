package storetest

import (
	"strings"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/store"
)

var packedTests = group{
	"TextsReadBack":   packedReadBack,
	"EditsReplace":    packedEdits,
	"BeginningAndEnd": packedCut,
}

// packable returns texts of all kinds: too short to be packed, packed, of the longest
// size that is packed, longer, and ones that gain nothing.
func packable() map[string]string {
	noise := make([]byte, 0, 900)
	for i := range cap(noise) {
		noise = append(noise, "0123456789abcdefghijklmnopqrstuvwxyz"[(i*i*7+i*131+i/5)%36])
	}
	text := func(size int) string {
		return `{"body":"` + strings.Repeat("ü", (size-11)/2) + strings.Repeat("x", (size-11)%2) + `"}`
	}
	return map[string]string{
		"empty": `{}`, "short": `{"url":"https://a.b"}`,
		"request":        `{"body":{"n":1,"$job":{"id":7},"$previous":{},"$state":{}},"headers":{},"query":{},"url":"https://example.com/"}`,
		"longest packed": text(store.MaxPacked), "longer": text(store.MaxPacked + 1), "noise": `{"body":"` + string(noise) + `"}`,
	}
}

// packedReadBack: however a text is stored, it is read and measured as it was given.
func packedReadBack(w *world) {
	bytes := int64(0)
	for name, text := range packable() {
		n := w.oneOff(w.owner, w.past())
		n.Job.Args = rawjson.Value(text)
		first := w.log(n.Job, job.EventSkipped, w.past())
		first.Payload = rawjson.Value(text)
		n.Logs = []job.Log{first}
		j := w.insertOne(n)
		c := w.claimOf(j, w.past())
		c.Log.Payload = rawjson.Value(text)
		w.claim(c)
		bytes += 3 * int64(len(text))
		if got := w.get(j); string(got.Args) != text {
			w.Errorf("%s: the arguments are %.60q", name, got.Args)
		}
		items, err := w.s.QueueLoad(w.ctx, []store.QueueKey{c.QueueKey})
		w.ok("QueueLoad", err)
		if len(items) != 1 || items[0] == nil || string(items[0].Job.Args) != text {
			w.Errorf("%s: the queue has %+v", name, items)
		}
		logs := w.logs(j)
		for _, l := range logs {
			if string(l.Payload) != text {
				w.Errorf("%s: a log has %.60q", name, l.Payload)
			}
		}
		if len(logs) != 2 {
			w.Errorf("%s: %d logs, want 2", name, len(logs))
		}
		marks, err := w.s.JobVersionsOf(w.ctx, w.owner, []job.Ref{{Number: j.Number}})
		w.ok("JobVersionsOf", err)
		if len(marks) != 1 || marks[0].Size != len(text) {
			w.Errorf("%s: the marks are %+v, want the size %d", name, marks, len(text))
		}
		found, _, err := w.s.JobScan(w.ctx, w.owner, job.Query{ListQuery: job.ListQuery{Limit: 10}}, 100,
			func(j *job.Job) bool { return string(j.Args) == text })
		w.ok("JobScan", err)
		if len(found) != 1 || found[0].Number != j.Number {
			w.Errorf("%s: a search finds %d jobs, want 1", name, len(found))
		}
	}
	if got := w.bytes(w.owner, 3); got != bytes {
		w.Errorf("the account has %d bytes, want %d", got, bytes)
	}
	marks, err := w.s.LogVersions(w.ctx, w.owner, 100)
	w.ok("LogVersions", err)
	total := 0
	for _, m := range marks {
		total += m.Size
	}
	if want := int(bytes / 3 * 2); total != want {
		w.Errorf("the logs have %d bytes, want %d", total, want)
	}
}

// packedEdits: new arguments replace others, whether these were packed or not.
func packedEdits(w *world) {
	texts := packable()
	j := w.insertOne(w.oneOff(w.owner, w.ahead()))
	for _, name := range []string{"short", "request", "noise", "longest packed", "longer", "request", "empty"} {
		if got := w.change(j, redefine(texts[name])); string(got.Args) != texts[name] {
			w.Errorf("%s: the arguments are %.60q", name, got.Args)
		}
	}
}

// packedCut: the first and the last characters of a text are the same however it is
// stored.
func packedCut(w *world) {
	letters := func(n int) string { return strings.Repeat("é", n) }
	whole := `{"status":503,"headers":{"a":"` + strings.Repeat("a", job.AttemptHead-73) + `"},"body":null,"attempt":2,"retry_at":null}`
	if len(whole) != job.AttemptHead {
		w.Fatalf("the text has %d bytes", len(whole))
	}
	for _, c := range []struct {
		name, text       string
		headEnd, tailEnd string // how the beginning and the end of the trail's log end
	}{
		{"packed, short", `{"status":503,"headers":{"Content-Type":"application/json"},"attempt":2,"retry_at":null}`, `"retry_at":null}`,
			``},
		{"packed, as long as a head", whole, `"retry_at":null}`, ``},
		{"packed, longer", `{"status":503,"headers":{"a":"` + strings.Repeat("a", job.AttemptHead) +
			`"},"body":null,"attempt":2,"retry_at":null}`, `aaaa`, `"retry_at":null}`},
		{"plain", `{"status":503,"headers":{},"body":"` + letters(4000) + `","attempt":2,"retry_at":null}`, `éééé`, `"retry_at":null}`},
	} {
		j := w.insertOne(w.oneOff(w.owner, w.past()))
		w.settle(j, func(j *job.Job, changes *store.Changes) {
			l := w.log(j, job.EventResponse, w.now)
			l.Payload = rawjson.Value(c.text)
			j.Discard(w.now)
			changes.Logs = []job.Log{l}
		})
		trail, err := w.s.JobTrail(w.ctx, w.owner, j.Number, 10)
		w.ok("JobTrail", err)
		ended := func(text, end string) bool { return strings.HasSuffix(text, end) && (text == "") == (end == "") }
		for _, got := range trail.Logs {
			if got.Event == job.EventResponse && !(ended(got.Head, c.headEnd) && ended(got.Tail, c.tailEnd)) {
				w.Errorf("%s: the trail has %d and %d bytes: …%.20q, …%.20q", c.name, len(got.Head), len(got.Tail), last(got.Head, 20),
					last(got.Tail, 20))
			}
		}
		failures, err := w.s.JobFailures(w.ctx, w.owner, []int64{j.Number})
		w.ok("JobFailures", err)
		if f := failures[j.Number]; f.Cause != "503" || f.Attempt != 2 {
			w.Errorf("%s: the failure is %+v", c.name, f)
		}
		kinds, err := w.s.JobErrorKinds(w.ctx, w.owner, []int64{j.Number})
		w.ok("JobErrorKinds", err)
		if want := job.FailureKind(job.EventResponse, []byte(c.text)); kinds[j.Number] != want {
			w.Errorf("%s: the kind is %q, want %q", c.name, kinds[j.Number], want)
		}
	}
}

// last returns the last bytes of a text.
func last(text string, n int) string { return text[max(0, len(text)-n):] }
