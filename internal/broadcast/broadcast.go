package broadcast

import (
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

const (
	// kept is how long a channel is open after it was last looked at.
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

// Board keeps messages.
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

// New makes a Board.
func New(now func() time.Time) *Hub {
	return &Hub{now: now, channels: map[string]*channel{}}
}

// Open keeps messages of a channel from now on, and gives those it has, newest
// first.
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

// makeRoom forgets what is over, and at least one channel.
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

// Put keeps a message for a channel that is open.
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

// clip returns the beginning of a text. It is a copy: the text may be a part of a
// large body, which would be kept with it.
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

// Watch gives a channel of Go that has something when messages have arrived.
// Call stop in the end.
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
