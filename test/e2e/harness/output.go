package harness

import (
	"bytes"
	"regexp"
	"strings"
	"sync"
)

// output keeps what a process wrote and announces lines as they come.
type output struct {
	mu    sync.Mutex
	text  bytes.Buffer
	grown chan struct{} // closed and replaced when text grows
}

func newOutput() *output { return &output{grown: make(chan struct{})} }

// Write implements io.Writer.
func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	close(o.grown)
	o.grown = make(chan struct{})
	return o.text.Write(p)
}

// String returns everything written so far.
func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// since returns what was written after the first n bytes.
func (o *output) since(n int) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return string(o.text.Bytes()[n:])
}

func (o *output) size() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Len()
}

// watch returns what was written after the first n bytes and a channel that is
// closed when there is more.
func (o *output) watch(n int) (string, <-chan struct{}) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return string(o.text.Bytes()[n:]), o.grown
}

// alarming matches what no run of the program may write.
var alarming = regexp.MustCompile(
	`(?m)^panic: |http: panic serving|WARNING: DATA RACE|^fatal error: |goroutine \d+ \[`)

// alarm returns the lines around the first panic or data race in text, or "".
func alarm(text string) string {
	at := alarming.FindStringIndex(text)
	if at == nil {
		return ""
	}
	from := strings.LastIndexByte(text[:at[0]], '\n') + 1
	return text[from:min(len(text), from+4000)]
}

// tail returns the end of a long text.
func tail(text string) string {
	const most = 6000
	if len(text) <= most {
		return text
	}
	return "[...]" + text[len(text)-most:]
}
