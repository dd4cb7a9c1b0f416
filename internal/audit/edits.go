package audit

import (
	"context"

	"github.com/punctual-dev/punctual/internal/job"
)

// The events of edits. Edits of jobs and schedules themselves have revisions, so
// they leave no entries; see job.Revision.
const (
	AlertCreated     = "alert.created"
	AlertChanged     = "alert.changed"
	AlertDeleted     = "alert.deleted"
	GroupCreated     = "group.created"
	GroupChanged     = "group.changed"
	GroupDeleted     = "group.deleted"
	LimitCreated     = "limit.created"
	LimitChanged     = "limit.changed"
	LimitDeleted     = "limit.deleted"
	ScheduleDisabled = "schedule.disabled"
	ScheduleEnabled  = "schedule.enabled"
	ScheduleDeleted  = "schedule.deleted"
	ScheduleMuted    = "schedule.muted"
	ScheduleUnmuted  = "schedule.unmuted"
	DocumentApplied  = "document.applied"
	OperationStarted = "operation.started"
	OperationStopped = "operation.stopped"
)

type actorKey struct{}

// WithActor returns a context of a call that an actor makes.
func WithActor(ctx context.Context, a Actor) context.Context {
	return context.WithValue(ctx, actorKey{}, a)
}

// Edited records an edit of one of an account's records by the actor of ctx. Without
// one the service itself made it, and no entry is stored. Such entries have a limit
// of their own: a key that can't read the audit log can make any number of edits, and
// displaces no sign-ins with them.
func (l *Log) Edited(ctx context.Context, account job.Owner, event, detail string) {
	actor, ok := ctx.Value(actorKey{}).(Actor)
	if !ok {
		return
	}
	l.Audit(ctx, Entry{Account: account, Actor: actor, Event: event, Detail: detail, edit: true})
}
