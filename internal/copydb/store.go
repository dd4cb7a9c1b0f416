package copydb

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/identity"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/store"
)

// Store is what a copy needs of both stores.
type Store interface {
	store.Copies
	store.Targets
	store.SigningKeys
	store.Runs
	WaitPage(ctx context.Context, account, job, waitsFor int64, limit int) ([]*store.Wait, error)
	Now() time.Time
	AccountList(ctx context.Context) ([]*identity.Account, error)
	AccountOf(ctx context.Context, number int64) (*identity.Account, error)
	MemberList(ctx context.Context, account int64) ([]*identity.Member, error)
	PersonOf(ctx context.Context, id uuid.UUID) (*identity.Person, error)
	SecretList(ctx context.Context, account int64) ([]*identity.HeaderSecret, error)
	LimitList(ctx context.Context, owner job.Owner, after string, limit int) ([]store.Limit, error)
	LimitPut(ctx context.Context, owner job.Owner, l store.Limit, putIf store.PutIf) (created bool, err error)
	GroupList(ctx context.Context, account int64, after string, limit int) ([]*job.Group, error)
	GroupCopy(ctx context.Context, g *job.Group) error
	MuteList(ctx context.Context, account int64, schedules []uuid.UUID) ([]*job.Mute, error)
	MuteCopy(ctx context.Context, m *job.Mute) error
	MonthsPage(ctx context.Context, account int64, after uuid.UUID, month int64, limit int) ([]*store.ScheduleMonth, error)
	MonthsCopy(ctx context.Context, months []*store.ScheduleMonth) error
	AlertList(ctx context.Context, owner job.Owner) ([]*store.Alert, error)
	RecipientList(ctx context.Context, account int64, after string, limit int) ([]*store.Recipient, error)
	KeyList(ctx context.Context, account int64) ([]*identity.Key, error)
	ScheduleList(ctx context.Context, owner job.Owner, q job.ScheduleQuery) ([]*job.Schedule, error)
	QueuePeek(ctx context.Context, after store.QueueKey, until time.Time, limit int) ([]store.QueueKey, error)
}
