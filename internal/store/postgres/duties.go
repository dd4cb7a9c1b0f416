package postgres

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/operator"
	"github.com/punctual-dev/punctual/internal/store"
	"github.com/punctual-dev/punctual/internal/workflow"
)

// duty is something that a loop of each node looks for about once a second, and that is
// seldom there. The probe of the server reads all of them at once, and the regular
// looks of the loops, see [store.Routine], rely on it.
type duty int

const (
	dutyBlocked    duty = iota // accounts for which nothing may be sent
	dutyTargets                // targets that operators block
	dutyOverdue                // completions, soon overdue
	dutyOperations             // running operations
	dutyListeners              // listeners and requests for them
	dutyWakes                  // limits to be planned
	dutyExpiry                 // limited items that expire
	dutyEnds                   // ends of awaited jobs
	dutyCancels                // cancels for nodes, also for those that are gone
	dutySilent                 // nodes that have sent no heartbeat for long
	dutyUnreported             // ends of workflow runs that others wait for
	duties
)

// dutyFresh is how long the result of a probe counts; dutyAhead is more than that.
const (
	dutyFresh = 700 * time.Millisecond
	dutyAhead = `1000000`
)

// dutyRows has what each duty's rows are selected from, by an index.
var dutyRows = [duties]string{
	dutyBlocked:    `accounts WHERE suspended_at IS NOT NULL AND deleted_at IS NULL UNION ALL SELECT FROM accounts WHERE deleted_at IS NOT NULL AND purged_at IS NULL`,
	dutyTargets:    `blocked_targets`,
	dutyOverdue:    `completions WHERE deadline IS NOT NULL AND deadline <= ` + serverNow + ` + ` + dutyAhead,
	dutyOperations: `operations WHERE state = 0`,
	dutyListeners:  `listeners UNION ALL SELECT FROM listener_requests`,
	dutyWakes:      `limits WHERE wake_at IS NOT NULL`,
	dutyExpiry:     `limit_items WHERE expires IS NOT NULL`,
	dutyEnds:       `job_ends`,
	dutyCancels:    `cancels`,
	dutyUnreported: `workflow_runs WHERE untold = 1`,
	dutySilent:     `nodes WHERE beat_at < ` + serverNow + ` - ` + strconv.FormatInt(silentFor.Microseconds(), 10),
}

// readDuties is the expression that selects which duties there are.
var readDuties = func() string {
	exists := make([]string, duties)
	for d, rows := range dutyRows {
		exists[d] = `EXISTS (SELECT FROM ` + rows + `)`
	}
	return `ARRAY[` + strings.Join(exists, `, `) + `]`
}()

// dutyRead is the result of a probe.
type dutyRead struct {
	sent  int64 // by the clock's elapsed
	found []bool
}

// free reports whether a call is routine and its duty was not there a moment ago.
func (s *Store) free(ctx context.Context, d duty) bool {
	read := s.dutyRead.Load()
	return store.IsRoutine(ctx) && read != nil && !read.found[d] && s.clock.elapsed()-read.sent < dutyFresh.Microseconds()
}

// AccountsBlocked implements store.Blocking.
func (s *Store) AccountsBlocked(ctx context.Context) ([]int64, error) {
	if s.free(ctx, dutyBlocked) {
		return nil, nil
	}
	return s.Records.AccountsBlocked(ctx)
}

// TargetBlocks implements store.Targets.
func (s *Store) TargetBlocks(ctx context.Context) ([]operator.TargetBlock, error) {
	if s.free(ctx, dutyTargets) {
		return []operator.TargetBlock{}, nil
	}
	return s.Records.TargetBlocks(ctx)
}

// OperationClaim implements store.Operations.
func (s *Store) OperationClaim(ctx context.Context, lease store.OperationLease, limit int) ([]*job.Operation, error) {
	if s.free(ctx, dutyOperations) {
		return nil, nil
	}
	return s.Records.OperationClaim(ctx, lease, limit)
}

// WaitTurn implements store.WaitQueue.
func (s *Store) WaitTurn(ctx context.Context, after int64) (account int64, err error) {
	if s.free(ctx, dutyEnds) {
		return 0, nil
	}
	return s.Records.WaitTurn(ctx, after)
}

// RunsUnreported implements store.Runs.
func (s *Store) RunsUnreported(ctx context.Context, account int64, id string, limit int) ([]*workflow.Run, error) {
	if s.free(ctx, dutyUnreported) {
		return nil, nil
	}
	return s.Records.RunsUnreported(ctx, account, id, limit)
}
