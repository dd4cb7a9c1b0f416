package stats

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"log/slog"
	"sync"
	"time"

	"github.com/punctual-dev/punctual/internal/store"
)

const (
	// writeEvery is how often counts are written.
	writeEvery = 10 * time.Second
	// writeBatch is how many counts are written at once.
	writeBatch = 200
	// held is how many minutes of counts are kept in memory while they can't be
	// written.
	held = 10
)

// Config configures a Collector.
type Config struct {
	Store store.Stats
	Now   func() time.Time
	Log   *slog.Logger
	// Enter waits until an account may read another series; the reader calls
	// leave when it is done. May be nil.
	Enter func(ctx context.Context, account int64) (leave func(), err error)
}

// Collector counts jobs' attempts.
type Collector struct {
	Config
	source int64
	shards [shards]shard
	// writing is locked while counts are written and while they are read, so
	// that no count is read twice.
	writing     sync.RWMutex
	punctuality cache
}

const shards = 32

type shard struct {
	mu    sync.Mutex
	cells map[cellKey]*cell
}

type cellKey struct{ account, minute int64 }

// cell is the counts of an account in a minute.
type cell struct {
	succeeded, failed  int64
	lateness, duration histogram
	worst              time.Duration // the greatest lateness
	changed            bool          // since it was last written
}

// New returns a Collector.
func New(config Config) *Collector {
	var id [8]byte
	_, _ = rand.Read(id[:])
	c := &Collector{Config: config, source: int64(binary.LittleEndian.Uint64(id[:])), punctuality: newCache()}
	for i := range c.shards {
		c.shards[i].cells = map[cellKey]*cell{}
	}
	return c
}

func minuteOf(t time.Time) int64 { return t.Unix() / 60 }

// Observe counts an attempt that has just ended: for its account, and for all
// accounts together.
func (c *Collector) Observe(account int64, succeeded bool, lateness, duration time.Duration) {
	minute := minuteOf(c.Now())
	c.count(cellKey{account, minute}, succeeded, lateness, duration)
	c.count(cellKey{store.EveryAccount, minute}, succeeded, lateness, duration)
}

func (c *Collector) count(key cellKey, succeeded bool, lateness, duration time.Duration) {
	late, took := bucket(lateness), bucket(duration)
	s := &c.shards[uint64(key.account)%shards]
	s.mu.Lock()
	one := s.cells[key]
	if one == nil {
		one = &cell{}
		s.cells[key] = one
	}
	if succeeded {
		one.succeeded++
	} else {
		one.failed++
	}
	one.lateness[late]++
	one.duration[took]++
	one.worst = max(one.worst, lateness)
	one.changed = true
	s.mu.Unlock()
}

// Run writes counts every ten seconds until ctx ends, and then once more.
func (c *Collector) Run(ctx context.Context) {
	ticker := time.NewTicker(writeEvery)
	defer ticker.Stop()
	failed := false
	for ctx.Err() == nil {
		select {
		case <-ticker.C:
		case <-ctx.Done():
		}
		err := c.Write(context.WithoutCancel(ctx))
		if err != nil && !failed {
			c.Log.Warn("storing statistics failed; retrying", "error", err)
		}
		failed = err != nil
	}
}

// Write stores what was counted since the last call.
func (c *Collector) Write(ctx context.Context) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	var batch []store.Stat
	var first error
	write := func() {
		if len(batch) == 0 {
			return
		}
		if err := c.Store.StatsWrite(ctx, batch); err != nil {
			first = err
			c.again(batch)
		}
		batch = nil
	}
	now := minuteOf(c.Now())
	for i := range c.shards {
		batch = c.shards[i].take(batch, c.source, now)
		if len(batch) >= writeBatch {
			write()
		}
	}
	write()
	return first
}

// take appends a shard's changed cells to batch and deletes past ones that are
// written.
func (s *shard) take(batch []store.Stat, source, now int64) []store.Stat {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, one := range s.cells {
		if one.changed {
			one.changed = false
			batch = append(batch, one.stat(key, source))
		} else if key.minute < now || key.minute > now+held {
			delete(s.cells, key)
		}
		if key.minute < now-held {
			delete(s.cells, key) // the store was away for too long
		}
	}
	return batch
}

func (c *cell) stat(key cellKey, source int64) store.Stat {
	return store.Stat{
		Account: key.account, Minute: key.minute, Source: source, Succeeded: c.succeeded, Failed: c.failed,
		Lateness: c.lateness.encode(), Duration: c.duration.encode(), Worst: c.worst.Truncate(time.Microsecond),
	}
}

// again marks the cells of a failed batch to be written again.
func (c *Collector) again(batch []store.Stat) {
	for _, b := range batch {
		s := &c.shards[uint64(b.Account)%shards]
		s.mu.Lock()
		if one := s.cells[cellKey{b.Account, b.Minute}]; one != nil {
			one.changed = true
		}
		s.mu.Unlock()
	}
}
