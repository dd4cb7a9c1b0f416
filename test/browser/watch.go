package browser

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
)

// watch collects what a browser complains of.
type watch struct {
	mu       sync.Mutex
	expected []int    // statuses
	texts    []string // of messages
	trouble  []string
}

func (w *watch) expect(status int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.expected = append(w.expected, status)
}

// take returns what was reported since the last time.
func (w *watch) take() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	text := strings.Join(w.trouble, "\n")
	w.trouble = nil
	return text
}

func (w *watch) expectText(text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.texts = append(w.texts, text)
}

func (w *watch) note(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.trouble = append(w.trouble, fmt.Sprintf(format, args...))
}

func (w *watch) event(event any) {
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		w.note("exception: %s", describe(e.ExceptionDetails))
	case *runtime.EventConsoleAPICalled:
		if e.Type != runtime.ConsoleAPICalledTypeError && e.Type != runtime.ConsoleAPICalledTypeWarning &&
			e.Type != runtime.ConsoleAPICalledTypeAssert {
			return
		}
		var words []string
		for _, arg := range e.Args {
			words = append(words, string(arg.Value)+arg.Description)
		}
		if text := strings.Join(words, " "); !ofAbort(text) {
			w.note("console %s: %s", e.Type, text)
		}
	case *log.EventEntryAdded:
		if e.Entry.Level != log.EntryLevelError && e.Entry.Source != log.EntrySourceSecurity {
			return
		}
		if e.Entry.Source == log.EntrySourceNetwork && w.isExpected(e.Entry.Text) {
			return
		}
		w.note("%s %s: %s (%s)", e.Entry.Source, e.Entry.Level, e.Entry.Text, e.Entry.URL)
	}
}

// ofAbort reports whether a console message is htmx's of a request that was aborted, such
// as a preview that was under way when its form was sent. It logs two; the first is also
// logged before those of real errors.
func ofAbort(text string) bool {
	return strings.Contains(text, "htmx:sendAbort") || strings.Contains(text, "htmx:afterRequest")
}

func describe(d *runtime.ExceptionDetails) string {
	if d.Exception != nil {
		return d.Text + " " + d.Exception.Description
	}
	return d.Text
}

// isExpected reports whether a message is expected.
func (w *watch) isExpected(text string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if slices.ContainsFunc(w.texts, func(part string) bool { return strings.Contains(text, part) }) {
		return true
	}
	return slices.ContainsFunc(w.expected, func(status int) bool {
		return strings.Contains(text, "status of "+strconv.Itoa(status))
	})
}

// quote writes a text as a JavaScript string.
func quote(text string) string {
	b, err := json.Marshal(text)
	if err != nil {
		return strconv.Quote(text)
	}
	return string(b)
}
