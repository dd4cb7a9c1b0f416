package app

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/punctual-dev/punctual/internal/metrics"
	"github.com/punctual-dev/punctual/internal/store"
)

// measuredStore measures the calls that jobs wait for: those of the engine.
type measuredStore struct {
	store.Store
	metrics *metrics.Metrics
	began   time.Time
	beat    atomic.Int64 // when the last successful heartbeat began: nanoseconds after began
	nodes   atomic.Int64 // that were alive then
}

func newMeasuredStore(s store.Store, m *metrics.Metrics) *measuredStore {
	measured := &measuredStore{Store: s, metrics: m, began: time.Now()}
	m.Gauge("punctual_nodes", "Nodes that are alive, as this node's last heartbeat saw them.", nil,
		func() float64 { return float64(measured.nodes.Load()) })
	m.Gauge("punctual_node_heartbeat_age_seconds", "Time since this node last renewed its lease, or since it started.", nil,
		func() float64 {
			return (time.Since(measured.began) - time.Duration(measured.beat.Load())).Seconds()
		})
	return measured
}

func (s *measuredStore) called(operation string, began time.Time, err error) {
	s.metrics.StoreCalled(operation, time.Since(began), err)
}

// JobInsertMany implements store.Jobs.
func (s *measuredStore) JobInsertMany(ctx context.Context, jobs []store.NewJob) ([]store.Inserted, error) {
	began := time.Now()
	inserted, err := s.Store.JobInsertMany(ctx, jobs)
	s.called("create", began, err)
	return inserted, err
}

// QueuePeek implements store.Queue.
func (s *measuredStore) QueuePeek(ctx context.Context, after store.QueueKey, until time.Time, limit int) ([]store.QueueKey, error) {
	began := time.Now()
	keys, err := s.Store.QueuePeek(ctx, after, until, limit)
	s.called("scan", began, err)
	return keys, err
}

// QueueLoad implements store.Queue.
func (s *measuredStore) QueueLoad(ctx context.Context, keys []store.QueueKey) ([]*store.QueueItem, error) {
	began := time.Now()
	items, err := s.Store.QueueLoad(ctx, keys)
	s.called("load", began, err)
	return items, err
}

// QueueClaim implements store.Queue.
func (s *measuredStore) QueueClaim(ctx context.Context, node int64, claims []store.Claim) ([]bool, error) {
	began := time.Now()
	claimed, err := s.Store.QueueClaim(ctx, node, claims)
	s.called("claim", began, err)
	return claimed, err
}

// QueueFinish implements store.Queue.
func (s *measuredStore) QueueFinish(ctx context.Context, ends []store.Finish) ([]bool, error) {
	began := time.Now()
	held, err := s.Store.QueueFinish(ctx, ends)
	s.called("finish", began, err)
	return held, err
}

// NodeHeartbeat implements store.Nodes.
func (s *measuredStore) NodeHeartbeat(ctx context.Context, node int64) (store.Heartbeat, error) {
	began := time.Now()
	beat, err := s.Store.NodeHeartbeat(ctx, node)
	s.called("heartbeat", began, err)
	if err == nil && !beat.LeaseExpired {
		s.beat.Store(int64(began.Sub(s.began)))
		s.nodes.Store(int64(len(beat.Nodes)))
	}
	return beat, err
}
