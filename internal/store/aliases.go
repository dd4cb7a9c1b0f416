package store

import (
	"github.com/punctual-dev/punctual/internal/identity"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/operator"
)

// The names below are those of packages job, identity and operator.

type (
	JobID          = job.Ref
	JobQuery       = job.Query
	ScheduleQuery  = job.ScheduleQuery
	ListQuery      = job.ListQuery
	LogQuery       = job.LogQuery
	LogPlace       = job.LogPlace
	LogWalk        = job.LogWalk
	Order          = job.Order
	RunSummary     = job.RunSummary
	Due            = job.DueJobs
	Account        = identity.Account
	Secret         = identity.Secret
	Key            = identity.Key
	Scope          = identity.Scope
	Overrides      = identity.Overrides
	Session        = identity.Session
	TOTP           = identity.TOTP
	DecideTOTP     = identity.DecideTOTP
	PasswordChange = identity.PasswordChange
	Invite         = identity.Invite
	Registration   = identity.Registration
	Size           = identity.RecordCounts
	Audit          = identity.AuditEntry
	Node           = operator.Node
	TargetBlock    = operator.TargetBlock
)

const (
	ScopeRead       = identity.ScopeRead
	ScopeJobs       = identity.ScopeJobs
	ScopeAdmin      = identity.ScopeAdmin
	MaxSecrets      = identity.MaxSecrets
	MaxKeysEnded    = identity.MaxKeysEnded
	MaxSessions     = identity.MaxSessions
	MaxAudits       = identity.MaxAudits
	MaxAuditSlots   = identity.MaxAuditSlots
	MaxTargetBlocks = operator.MaxTargetBlocks
	MaxBlockReason  = operator.MaxBlockReason
	TooManyBlocks   = operator.TooManyBlocks
	PageBytes       = job.PageBytes
)

func JobSize(j *job.Job) int { return job.Size(j) }

func ScheduleSize(s *job.Schedule) int { return job.ScheduleSize(s) }

func LogSize(l *job.Log) int { return job.LogSize(l) }

func AuditSize(a *identity.AuditEntry) int { return identity.AuditSize(a) }

func TotalSize[T any](records []T, of func(T) int) int { return job.TotalSize(records, of) }

func Fit[T any](records []T, limit, budget int, of func(T) int) ([]T, bool) {
	return job.Fit(records, limit, budget, of)
}
