package broadcast

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func contents(messages []Message) string {
	text := ""
	for _, m := range messages {
		text += m.Content + " "
	}
	return text
}

func want(t *testing.T, what string, got []Message, want string) {
	t.Helper()
	if text := contents(got); text != want {
		t.Errorf("%s: %q, want %q", what, text, want)
	}
}

func TestOnlyOpenChannelsKeepMessages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(time.Now)
		b.Put("a", Message{Content: "early"})
		want(t, "a new channel", b.Open("a"), "")
		for i := range 12 {
			b.Put("a", Message{Content: fmt.Sprint(i)})
		}
		b.Put("b", Message{Content: "elsewhere"})
		want(t, "the channel", b.Open("a"), "11 10 9 8 7 6 5 4 3 2 ")
		if at := b.Open("a")[0].At; !at.Equal(time.Now()) {
			t.Errorf("it arrived at %s", at)
		}
		time.Sleep(kept + time.Second)
		want(t, "the channel after a while", b.Open("a"), "")
	})
}

func TestWhoWatchesIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(time.Now)
		arrived, stop := b.Watch("a")
		b.Put("a", Message{Content: "1"})
		b.Put("a", Message{Content: "2"}) // waits for nobody
		<-arrived
		want(t, "what is there", b.Open("a"), "2 1 ")
		time.Sleep(2 * kept)
		b.Put("a", Message{Content: "3"})
		<-arrived
		want(t, "while somebody watches", b.Open("a"), "3 2 1 ")
		stop()
		b.Put("a", Message{Content: "4"})
		select {
		case <-arrived:
			t.Error("one who has gone was told")
		default:
		}
	})
}

func TestWhatIsKeptIsBounded(t *testing.T) {
	t.Parallel()
	now := time.Now()
	b := New(func() time.Time { return now })
	for i := range maxChannels + 10 {
		now = now.Add(time.Millisecond)
		b.Open(fmt.Sprint(i))
	}
	if len(b.channels) > maxChannels || b.channels["0"] != nil || b.channels[fmt.Sprint(maxChannels+9)] == nil {
		t.Errorf("%d channels are open", len(b.channels))
	}
	b.Open("a")
	b.Put("a", Message{Content: strings.Repeat("é", 10_000)})
	if n := len(b.Open("a")[0].Content); n > maxText+3 {
		t.Errorf("%d bytes of a text are kept", n)
	}
}

// TestLargeMessagesAreNotKept puts messages whose texts are small parts of large
// bodies, or large themselves, and measures what stays in memory.
func TestLargeMessagesAreNotKept(t *testing.T) {
	b := New(time.Now)
	b.Open("page")
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := heap()
	for range maxMessages {
		body := strings.Repeat("x", 4<<20)
		b.Put("page", Message{Content: body[:100], Author: body})
	}
	if grown := int64(heap() - before); grown > 4<<20 {
		t.Errorf("%d bytes are kept", grown)
	}
	if n := len(b.Open("page")); n != maxMessages {
		t.Errorf("%d messages are kept", n)
	}
}
