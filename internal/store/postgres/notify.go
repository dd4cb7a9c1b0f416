package postgres

import (
	"context"
	"math"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/punctual-dev/punctual/internal/store"
)

const (
	// channel is where nodes tell each other.
	channel = "punctual"
	// tellAhead is how soon a run must be due to be told of. Others read the
	// queue once a second in any case.
	tellAhead = 1500 * time.Millisecond
	// maxPayload is what one notification may carry, less than PostgreSQL's 8,000.
	maxPayload = 7000
)

// teller tells other nodes what this process has stored, after the commit and
// in a transaction of its own: one that notifies holds a lock over all others
// that do until it is on disk, and this one has nothing to put there. Whatever
// comes up meanwhile is told together.
type teller struct {
	store *Store
	wake  chan struct{}

	mu      sync.Mutex
	due     int64          // the earliest due time to tell of; MaxInt64 for none
	cancels map[int64]bool // nodes that have cancels to read
}

func newTeller(s *Store) *teller {
	return &teller{store: s, wake: make(chan struct{}, 1), due: math.MaxInt64, cancels: map[int64]bool{}}
}

// stored notes runs that others may have to take.
func (t *teller) stored(refs []store.QueueKey) {
	if len(refs) == 0 || t.store.isAlone() {
		return
	}
	soon := t.store.Now().Add(tellAhead).UnixMicro()
	t.mu.Lock()
	before := t.due
	for i := range refs {
		if due := refs[i].Due.UnixMicro(); due < soon {
			t.due = min(t.due, due)
		}
	}
	news := t.due < before
	t.mu.Unlock()
	if news {
		t.poke()
	}
}

// cancelled notes nodes that have cancels to read.
func (t *teller) cancelled(nodes []int64) {
	if len(nodes) == 0 {
		return
	}
	t.mu.Lock()
	for _, node := range nodes {
		t.cancels[node] = true
	}
	t.mu.Unlock()
	t.poke()
}

func (t *teller) poke() {
	select {
	case t.wake <- struct{}{}:
	default:
	}
}

func (t *teller) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.wake:
			t.flush()
		}
	}
}

// flush tells what there is to tell. It may be lost: nobody waits for it.
func (t *teller) flush() {
	t.mu.Lock()
	due, cancels := t.due, t.cancels
	t.due, t.cancels = math.MaxInt64, map[int64]bool{}
	t.mu.Unlock()
	if due == math.MaxInt64 && len(cancels) == 0 {
		return
	}
	_ = t.store.brief(context.Background(), query{
		sql: `SELECT pg_notify('` + channel + `', p) FROM unnest($1::text[]) p`, args: []any{notice{from: t.store.id, due: due, cancels: cancels}.payloads()},
	})
}

// notice is what nodes tell each other: that runs were stored, the earliest
// due at a time, and that nodes have cancels to read.
type notice struct {
	from    string
	due     int64 // MaxInt64 for none
	cancels map[int64]bool
}

// payloads gives a notice as text, "FROM DUE NODE,NODE…", in as many parts as
// need be.
func (n notice) payloads() []string {
	var parts []string
	head := n.from + " " + strconv.FormatInt(n.due, 10) + " "
	part := head
	for node := range n.cancels {
		if len(part) > maxPayload {
			parts = append(parts, part)
			part = head
		}
		part += strconv.FormatInt(node, 10) + ","
	}
	return append(parts, part)
}

// parseNotice reads a notice; ok is false for what is not one.
func parseNotice(payload string) (n notice, ok bool) {
	fields := strings.Split(payload, " ")
	if len(fields) != 3 {
		return n, false
	}
	due, err := strconv.ParseInt(fields[1], 10, 64)
	if err != nil {
		return n, false
	}
	n = notice{from: fields[0], due: due, cancels: map[int64]bool{}}
	for part := range strings.SplitSeq(fields[2], ",") {
		if node, err := strconv.ParseInt(part, 10, 64); err == nil {
			n.cancels[node] = true
		}
	}
	return n, true
}

func (s *Store) isAlone() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.alone
}
