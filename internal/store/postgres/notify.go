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
	// channel is the notification channel of the nodes.
	channel = "punctual"
	// tellAhead is how soon an item must be due to notify other nodes of it. They
	// scan the queue once a second in any case.
	tellAhead = 1500 * time.Millisecond
	// maxPayload is the maximum size of a notification in bytes, less than
	// PostgreSQL's limit of 8,000.
	maxPayload = 7000
)

// notifier notifies other nodes of what this process has stored. It does so after
// the commit, in a separate transaction: a transaction with NOTIFY blocks all
// others with NOTIFY until it is on disk, and this one writes nothing to disk.
// Changes that arrive meanwhile are combined into one notice.
type notifier struct {
	store *Store
	wake  chan struct{}

	mu      sync.Mutex
	due     int64          // the earliest due time to send; MaxInt64 for none
	cancels map[int64]bool // nodes that have cancels to read; alertsNode
}

func newNotifier(s *Store) *notifier {
	return &notifier{store: s, wake: make(chan struct{}, 1), due: math.MaxInt64, cancels: map[int64]bool{}}
}

// stored adds items that other nodes may have to claim.
func (t *notifier) stored(refs []store.QueueKey) {
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

// cancelled adds nodes that have cancels to read.
func (t *notifier) cancelled(nodes []int64) {
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

// alertsNode stands among the nodes of a notice for changed alerts, so that earlier
// releases ignore it.
const alertsNode = -1

// alertsChanged tells other nodes that alerts have changed.
func (t *notifier) alertsChanged() {
	if !t.store.isAlone() {
		t.cancelled([]int64{alertsNode})
	}
}

func (t *notifier) poke() {
	select {
	case t.wake <- struct{}{}:
	default:
	}
}

func (t *notifier) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.wake:
			t.flush()
		}
	}
}

// flush sends the pending notice, which may be lost.
func (t *notifier) flush() {
	t.mu.Lock()
	due, cancels := t.due, t.cancels
	t.due, t.cancels = math.MaxInt64, map[int64]bool{}
	t.mu.Unlock()
	if due == math.MaxInt64 && len(cancels) == 0 {
		return
	}
	_ = t.store.runControl(context.Background(), query{
		sql:  `SELECT pg_notify('` + channel + `', p) FROM unnest($1::text[]) p`,
		args: []any{notice{from: t.store.id, due: due, cancels: cancels}.payloads()},
	})
}

// notice is a notification between nodes: items were stored, the earliest due at
// a time, and nodes have cancels to read.
type notice struct {
	from    string
	due     int64 // MaxInt64 for none
	cancels map[int64]bool
}

// payloads returns a notice as text, "FROM DUE NODE,NODE…", in as many parts as
// needed.
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

// parseNotice parses a notice; ok is false if payload is not one.
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
	return s.onlyNode
}
