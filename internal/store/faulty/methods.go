package faulty

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/identity"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/store"
)

// methods are the methods that can fail.
var methods = map[string]bool{
	"AccountBytes":       true,
	"AccountDelete":      true,
	"AccountGet":         true,
	"AccountInsert":      true,
	"AccountLimit":       true,
	"AccountList":        true,
	"AccountOf":          true,
	"AccountOperator":    true,
	"AccountPage":        true,
	"AccountPassword":    true,
	"AccountPurge":       true,
	"AccountRegister":    true,
	"AccountSize":        true,
	"AccountSuspend":     true,
	"AccountTOTP":        true,
	"AccountUse":         true,
	"AccountsBlocked":    true,
	"AlertAccounts":      true,
	"AlertDelete":        true,
	"AlertGet":           true,
	"AlertList":          true,
	"AlertStates":        true,
	"AlertPut":           true,
	"AlertStatePrune":    true,
	"AlertTrack":         true,
	"AlertsPending":      true,
	"AuditInsert":        true,
	"AuditList":          true,
	"AuditPrune":         true,
	"CompletionAccount":  true,
	"CompletionChange":   true,
	"CompletionGet":      true,
	"CompletionOf":       true,
	"CompletionSeal":     true,
	"CompletionsOverdue": true,
	"DocumentEntries":    true,
	"EncryptedHeaders":   true,
	"EncryptedReplace":   true,
	"EncryptedSigning":   true,
	"FailuresSince":      true,
	"InviteFind":         true,
	"InviteInsert":       true,
	"JobChange":          true,
	"JobCounts":          true,
	"JobErrorKinds":      true,
	"JobFailures":        true,
	"JobGet":             true,
	"JobGetMany":         true,
	"JobHolding":         true,
	"JobInsertBatch":     true,
	"JobInsertMany":      true,
	"JobList":            true,
	"JobMarks":           true,
	"JobMarksEnded":      true,
	"JobMarksOf":         true,
	"JobMessages":        true,
	"JobNumbers":         true,
	"JobPrune":           true,
	"JobScan":            true,
	"JobTally":           true,
	"JobTrail":           true,
	"JobsAhead":          true,
	"JobsDue":            true,
	"KeyFind":            true,
	"KeyGet":             true,
	"KeyInsert":          true,
	"KeyList":            true,
	"KeyRevoke":          true,
	"KeyUsed":            true,
	"LimitDelete":        true,
	"LimitExpire":        true,
	"LimitGet":           true,
	"LimitHold":          true,
	"LimitList":          true,
	"LimitsWaiting":      true,
	"LimitPass":          true,
	"LimitPut":           true,
	"LimitWaiting":       true,
	"LimitWakes":         true,
	"LimitsHolding":      true,
	"LimitsOf":           true,
	"LogGet":             true,
	"LogGetMany":         true,
	"LogList":            true,
	"LogMarks":           true,
	"LogPrune":           true,
	"LogWalk":            true,
	"NodeHeartbeat":      true,
	"NodeList":           true,
	"NodeStart":          true,
	"NodeStop":           true,
	"OperationApply":     true,
	"OperationClaim":     true,
	"OperationGet":       true,
	"OperationInsert":    true,
	"OperationList":      true,
	"OperationMatch":     true,
	"OperationNext":      true,
	"OperationPrune":     true,
	"OperationRelease":   true,
	"OperationStop":      true,
	"OperationsRunning":  true,
	"Ping":               true,
	"QueueAbandoned":     true,
	"QueueClaim":         true,
	"QueueCounts":        true,
	"QueueFinish":        true,
	"QueueHeld":          true,
	"QueueLoad":          true,
	"QueueMove":          true,
	"QueuePeek":          true,
	"QueueRelease":       true,
	"RecipientChange":    true,
	"RecipientFind":      true,
	"RecipientGet":       true,
	"RecipientList":      true,
	"RecipientPrune":     true,
	"Revisions":          true,
	"RunUnfinished":      true,
	"RunsEnded":          true,
	"ScheduleChange":     true,
	"ScheduleGet":        true,
	"ScheduleHolding":    true,
	"ScheduleKeyed":      true,
	"ScheduleList":       true,
	"SchedulePut":        true,
	"ScheduleRuns":       true,
	"SchedulesDue":       true,
	"SchedulesFailing":   true,
	"SecretAdd":          true,
	"SecretDelete":       true,
	"SecretList":         true,
	"SecretPut":          true,
	"SecretsNamed":       true,
	"SessionDelete":      true,
	"SessionEndOthers":   true,
	"SessionFind":        true,
	"SessionInsert":      true,
	"SessionList":        true,
	"SessionPrune":       true,
	"SessionSeen":        true,
	"StatsPrune":         true,
	"StatsRead":          true,
	"StatsWrite":         true,
	"SuspectClear":       true,
	"SuspectList":        true,
	"SuspectNote":        true,
	"TargetBlock":        true,
	"TargetBlocks":       true,
	"TargetUnblock":      true,
}

// Ping implements store.Store.
func (s *Store) Ping(ctx context.Context) error {
	return do(ctx, s, "Ping", func() error { return s.Store.Ping(ctx) })
}

// JobInsertBatch implements store.Store.
func (s *Store) JobInsertBatch(ctx context.Context, jobs []store.NewJob, accept func([]store.Inserted) error) ([]store.Inserted, error) {
	return get(ctx, s, "JobInsertBatch", func() ([]store.Inserted, error) { return s.Store.JobInsertBatch(ctx, jobs, accept) })
}

// JobInsertMany implements store.Store.
func (s *Store) JobInsertMany(ctx context.Context, jobs []store.NewJob) ([]store.Inserted, error) {
	return get(ctx, s, "JobInsertMany", func() ([]store.Inserted, error) { return s.Store.JobInsertMany(ctx, jobs) })
}

// JobGetMany implements store.Store.
func (s *Store) JobGetMany(ctx context.Context, owner job.Owner, ids []job.Ref) ([]*job.Job, error) {
	return get(ctx, s, "JobGetMany", func() ([]*job.Job, error) { return s.Store.JobGetMany(ctx, owner, ids) })
}

// JobTally implements store.Store.
func (s *Store) JobTally(ctx context.Context, owner job.Owner, q job.Query, limit int) (counts map[job.State]int64, cut bool, err error) {
	counts, err = get(ctx, s, "JobTally", func() (counts map[job.State]int64, err error) {
		counts, cut, err = s.Store.JobTally(ctx, owner, q, limit)
		return counts, err
	})
	return counts, cut, err
}

// JobScan implements store.Store.
func (s *Store) JobScan(ctx context.Context, owner job.Owner, q job.Query, look int, match func(*job.Job) bool) (found []*job.Job, next int64, err error) {
	found, err = get(ctx, s, "JobScan", func() (jobs []*job.Job, err error) {
		jobs, next, err = s.Store.JobScan(ctx, owner, q, look, match)
		return jobs, err
	})
	return found, next, err
}

// JobGet implements store.Store.
func (s *Store) JobGet(ctx context.Context, owner job.Owner, id job.Ref) (*job.Job, error) {
	return get(ctx, s, "JobGet", func() (*job.Job, error) { return s.Store.JobGet(ctx, owner, id) })
}

// JobList implements store.Store.
func (s *Store) JobList(ctx context.Context, owner job.Owner, q job.Query) ([]*job.Job, error) {
	return get(ctx, s, "JobList", func() ([]*job.Job, error) { return s.Store.JobList(ctx, owner, q) })
}

// JobChange implements store.Store.
func (s *Store) JobChange(ctx context.Context, owner job.Owner, id job.Ref, decide store.Decide) (*job.Job, error) {
	return get(ctx, s, "JobChange", func() (*job.Job, error) { return s.Store.JobChange(ctx, owner, id, decide) })
}

// JobCounts implements store.Store.
func (s *Store) JobCounts(ctx context.Context) (map[job.State]int64, error) {
	return get(ctx, s, "JobCounts", func() (map[job.State]int64, error) { return s.Store.JobCounts(ctx) })
}

// ScheduleGet implements store.Store.
func (s *Store) ScheduleGet(ctx context.Context, owner job.Owner, id uuid.UUID) (*job.Schedule, error) {
	return get(ctx, s, "ScheduleGet", func() (*job.Schedule, error) { return s.Store.ScheduleGet(ctx, owner, id) })
}

// ScheduleList implements store.Store.
func (s *Store) ScheduleList(ctx context.Context, owner job.Owner, q job.ScheduleQuery) ([]*job.Schedule, error) {
	return get(ctx, s, "ScheduleList", func() ([]*job.Schedule, error) { return s.Store.ScheduleList(ctx, owner, q) })
}

// ScheduleChange implements store.Store.
func (s *Store) ScheduleChange(ctx context.Context, owner job.Owner, id uuid.UUID, decide store.Decide) (*job.Schedule, error) {
	return get(ctx, s, "ScheduleChange", func() (*job.Schedule, error) { return s.Store.ScheduleChange(ctx, owner, id, decide) })
}

// JobMessages implements store.Store.
func (s *Store) JobMessages(ctx context.Context, owner job.Owner, number int64, limit int) ([]*job.Delivery, error) {
	return get(ctx, s, "JobMessages", func() ([]*job.Delivery, error) { return s.Store.JobMessages(ctx, owner, number, limit) })
}

// LogGet implements store.Store.
func (s *Store) LogGet(ctx context.Context, owner job.Owner, id uuid.UUID) (*job.Log, error) {
	return get(ctx, s, "LogGet", func() (*job.Log, error) { return s.Store.LogGet(ctx, owner, id) })
}

// LogWalk implements store.Store.
func (s *Store) LogWalk(ctx context.Context, owner job.Owner, schedule uuid.UUID, q job.LogQuery, look int) (*job.LogWalk, error) {
	return get(ctx, s, "LogWalk", func() (*job.LogWalk, error) { return s.Store.LogWalk(ctx, owner, schedule, q, look) })
}

// LogList implements store.Store.
func (s *Store) LogList(ctx context.Context, owner job.Owner, q job.LogQuery) ([]*job.Log, error) {
	return get(ctx, s, "LogList", func() ([]*job.Log, error) { return s.Store.LogList(ctx, owner, q) })
}

// QueuePeek implements store.Store.
func (s *Store) QueuePeek(ctx context.Context, after store.QueueKey, until time.Time, limit int) ([]store.QueueKey, error) {
	return get(ctx, s, "QueuePeek", func() ([]store.QueueKey, error) { return s.Store.QueuePeek(ctx, after, until, limit) })
}

// QueueLoad implements store.Store.
func (s *Store) QueueLoad(ctx context.Context, refs []store.QueueKey) ([]*store.QueueItem, error) {
	return get(ctx, s, "QueueLoad", func() ([]*store.QueueItem, error) { return s.Store.QueueLoad(ctx, refs) })
}

// QueueClaim implements store.Store.
func (s *Store) QueueClaim(ctx context.Context, node int64, claims []store.Claim) ([]bool, error) {
	return get(ctx, s, "QueueClaim", func() ([]bool, error) { return s.Store.QueueClaim(ctx, node, claims) })
}

// QueueFinish implements store.Store.
func (s *Store) QueueFinish(ctx context.Context, finishes []store.Finish) ([]bool, error) {
	return get(ctx, s, "QueueFinish", func() ([]bool, error) { return s.Store.QueueFinish(ctx, finishes) })
}

// QueueRelease implements store.Store.
func (s *Store) QueueRelease(ctx context.Context, node int64, claims []store.Claim) error {
	return do(ctx, s, "QueueRelease", func() error { return s.Store.QueueRelease(ctx, node, claims) })
}

// QueueHeld implements store.Store.
func (s *Store) QueueHeld(ctx context.Context, node int64, claims []store.Claim) ([]store.ClaimStatus, error) {
	return get(ctx, s, "QueueHeld", func() ([]store.ClaimStatus, error) { return s.Store.QueueHeld(ctx, node, claims) })
}

// QueueAbandoned implements store.Store.
func (s *Store) QueueAbandoned(ctx context.Context, limit int) ([]store.Abandoned, error) {
	return get(ctx, s, "QueueAbandoned", func() ([]store.Abandoned, error) { return s.Store.QueueAbandoned(ctx, limit) })
}

// QueueCounts implements store.Store.
func (s *Store) QueueCounts(ctx context.Context) (map[store.Kind]int64, error) {
	return get(ctx, s, "QueueCounts", func() (map[store.Kind]int64, error) { return s.Store.QueueCounts(ctx) })
}

// NodeStart implements store.Store.
func (s *Store) NodeStart(ctx context.Context) (int64, error) {
	return get(ctx, s, "NodeStart", func() (int64, error) { return s.Store.NodeStart(ctx) })
}

// NodeHeartbeat implements store.Store.
func (s *Store) NodeHeartbeat(ctx context.Context, node int64) (store.Heartbeat, error) {
	return get(ctx, s, "NodeHeartbeat", func() (store.Heartbeat, error) { return s.Store.NodeHeartbeat(ctx, node) })
}

// NodeStop implements store.Store.
func (s *Store) NodeStop(ctx context.Context, node int64) error {
	return do(ctx, s, "NodeStop", func() error { return s.Store.NodeStop(ctx, node) })
}

// JobPrune implements store.Store.
func (s *Store) JobPrune(ctx context.Context, before time.Time, after store.PruneMark, limit int) (store.Pruned, error) {
	return get(ctx, s, "JobPrune", func() (store.Pruned, error) { return s.Store.JobPrune(ctx, before, after, limit) })
}

// LogPrune implements store.Store.
func (s *Store) LogPrune(ctx context.Context, before time.Time, after store.PruneMark, limit int) (store.Pruned, error) {
	return get(ctx, s, "LogPrune", func() (store.Pruned, error) { return s.Store.LogPrune(ctx, before, after, limit) })
}

// AccountInsert implements store.Store.
func (s *Store) AccountInsert(ctx context.Context, a *identity.Account) error {
	return do(ctx, s, "AccountInsert", func() error { return s.Store.AccountInsert(ctx, a) })
}

// AccountGet implements store.Store.
func (s *Store) AccountGet(ctx context.Context, email string) (*identity.Account, error) {
	return get(ctx, s, "AccountGet", func() (*identity.Account, error) { return s.Store.AccountGet(ctx, email) })
}

// AccountOf implements store.Store.
func (s *Store) AccountOf(ctx context.Context, number int64) (*identity.Account, error) {
	return get(ctx, s, "AccountOf", func() (*identity.Account, error) { return s.Store.AccountOf(ctx, number) })
}

// AccountList implements store.Store.
func (s *Store) AccountList(ctx context.Context) ([]*identity.Account, error) {
	return get(ctx, s, "AccountList", func() ([]*identity.Account, error) { return s.Store.AccountList(ctx) })
}

// SecretAdd implements store.Store.
func (s *Store) SecretAdd(ctx context.Context, account int64, secret identity.Secret, othersEnd time.Time) error {
	return do(ctx, s, "SecretAdd", func() error { return s.Store.SecretAdd(ctx, account, secret, othersEnd) })
}

// KeyInsert implements store.Store.
func (s *Store) KeyInsert(ctx context.Context, k *identity.Key) error {
	return do(ctx, s, "KeyInsert", func() error { return s.Store.KeyInsert(ctx, k) })
}

// KeyFind implements store.Store.
func (s *Store) KeyFind(ctx context.Context, hash []byte) (*identity.Key, error) {
	return get(ctx, s, "KeyFind", func() (*identity.Key, error) { return s.Store.KeyFind(ctx, hash) })
}

// KeyList implements store.Store.
func (s *Store) KeyList(ctx context.Context, account int64) ([]*identity.Key, error) {
	return get(ctx, s, "KeyList", func() ([]*identity.Key, error) { return s.Store.KeyList(ctx, account) })
}

// KeyRevoke implements store.Store.
func (s *Store) KeyRevoke(ctx context.Context, id uuid.UUID, at time.Time) error {
	return do(ctx, s, "KeyRevoke", func() error { return s.Store.KeyRevoke(ctx, id, at) })
}

// KeyUsed implements store.Store.
func (s *Store) KeyUsed(ctx context.Context, at map[uuid.UUID]time.Time) error {
	return do(ctx, s, "KeyUsed", func() error { return s.Store.KeyUsed(ctx, at) })
}
