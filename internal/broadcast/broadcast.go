package broadcast

import (
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

const (
	// kept is how long a channel stays open after it was last read.
	kept = 15 * time.Minute
	// maxChannels is how many channels are open at most; the one that was looked
	// at the longest ago makes room.
	maxChannels = 2_000
	// maxMessages is how many messages of a channel are kept, and maxText how many
	// bytes of each text: 22 MB at most in all channels.
	maxMessages = 10
	maxText     = 500
)

// Message is what arrived on a channel.
type Message struct {
	Content, Author string
	At              time.Time // when it arrived
	// Due is when the job that sent it was due, and Job its number; zero when it
	// came from elsewhere.
	Due time.Time
	Job int64
}

// Hub keeps messages of open channels.
type Hub struct {
	now func() time.Time

	mu       sync.Mutex
	channels map[string]*channel
}

type channel struct {
	seen     time.Time
	messages []Message // newest first
	watchers map[chan struct{}]bool
}

// New returns a Hub.
func New(now func() time.Time) *Hub {
	return &Hub{now: now, channels: map[string]*channel{}}
}

// Open opens a channel, so that its messages are kept, and returns those it already
// has, newest first.
func (b *Hub) Open(name string) []Message {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.open(name).messages)
}

func (b *Hub) open(name string) *channel {
	now := b.now()
	c := b.channels[name]
	if c == nil || now.Sub(c.seen) > kept && len(c.watchers) == 0 {
		if c == nil && len(b.channels) >= maxChannels {
			b.makeRoom(now)
		}
		c = &channel{watchers: map[chan struct{}]bool{}}
		b.channels[name] = c
	}
	c.seen = now
	return c
}

// makeRoom removes expired channels, and at least one channel.
func (b *Hub) makeRoom(now time.Time) {
	oldest := ""
	for name, c := range b.channels {
		if now.Sub(c.seen) > kept && len(c.watchers) == 0 {
			delete(b.channels, name)
		} else if oldest == "" || c.seen.Before(b.channels[oldest].seen) {
			oldest = name
		}
	}
	if len(b.channels) >= maxChannels {
		delete(b.channels, oldest)
	}
}

// Put adds a message to a channel, if it is open.
func (b *Hub) Put(name string, m Message) {
	b.mu.Lock()
	defer b.mu.Unlock()
	c := b.channels[name]
	if c == nil {
		return
	}
	m.Content, m.Author, m.At = clip(m.Content), clip(m.Author), b.now()
	c.messages = slices.Insert(c.messages, 0, m)
	if len(c.messages) > maxMessages {
		c.messages = c.messages[:maxMessages:maxMessages]
	}
	for w := range c.watchers {
		select {
		case w <- struct{}{}:
		default: // it knows already
		}
	}
}

// clip returns a copy of the beginning of a text. Without copying, the large body
// that the text may be part of would stay in memory.
func clip(text string) string {
	if len(text) <= maxText {
		return strings.Clone(text)
	}
	text = text[:maxText]
	for !utf8.ValidString(text) {
		text = text[:len(text)-1]
	}
	return text + "…"
}

// Watch returns a Go channel that receives a value after messages arrive. The caller
// must call stop when done.
func (b *Hub) Watch(name string) (arrived <-chan struct{}, stop func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	w := make(chan struct{}, 1)
	c := b.open(name)
	c.watchers[w] = true
	return w, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(c.watchers, w)
		c.seen = b.now()
	}
}
