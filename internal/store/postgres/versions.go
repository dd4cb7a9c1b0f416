package postgres

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/store"
)

// versionColumns are the columns that versionsOf reads. PostgreSQL knows the length of
// args without reading them.
const versionColumns = `j.number, j.id, j.state, j.inserted_at, j.scheduled_at, j.due_at, j.attempted_at, ` + argsSize

// versionsOf returns a query for the versions of jobs as clients see them.
func (s *Store) versionsOf(sql string, args []any, versions *[]store.JobVersion) query {
	now := s.Now()
	return query{sql: sql, args: args, start: func() { *versions = nil }, row: func(rows pgx.Rows) error {
		var m store.JobVersion
		var held store.ClaimInfo
		err := rows.Scan(&m.Number, idOf{&m.ID}, &m.State, timeOf{&m.InsertedAt}, timeOf{&m.ScheduledAt}, timeOf{&m.DueAt},
			timeOf{&m.AttemptedAt}, &m.Size,
			&held.Node, &held.Attempt, timeOf{&held.StartAt})
		if held.Node > 0 && !held.StartAt.After(now) {
			m.State, m.AttemptedAt = job.Executing, held.StartAt
		}
		*versions = append(*versions, m)
		return err
	}}
}

// JobVersions implements store.Versions.
func (s *Store) JobVersions(ctx context.Context, owner job.Owner, limit int) (versions []store.JobVersion, err error) {
	c := &condition{}
	inner := s.indexedNumbers(c, owner, job.Query{ListQuery: job.ListQuery{Limit: limit}})
	sql := `SELECT ` + versionColumns + `, ` + runColumns + ` FROM ` + c.owned(owner, inner) +
		` JOIN jobs j ON j.account = n.account AND j.number = n.number ` + joinItem + ` ORDER BY j.number DESC`
	err = s.readAs(ctx, pages, s.versionsOf(sql, c.args, &versions))
	return versions, err
}

// JobVersionsOf implements store.Versions.
func (s *Store) JobVersionsOf(ctx context.Context, owner job.Owner, ids []job.Ref) ([]store.JobVersion, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	numbers, uuids := splitIDs(ids)
	var byNumber, byUUID []store.JobVersion
	err := s.readAs(ctx, pages, asked(
		numbers, s.versionsOf(`SELECT `+versionColumns+`, `+runColumns+` FROM `+listedJobs+joinItem, []any{owner.Number, numbers}, &byNumber),
		uuids, s.versionsOf(`SELECT `+versionColumns+`, `+runColumns+` FROM `+listedIDs+joinItem, []any{owner.Number, uuids}, &byUUID))...)
	return append(byNumber, byUUID...), err
}

// JobVersionsEnded implements store.Versions.
func (s *Store) JobVersionsEnded(ctx context.Context, owner job.Owner, since time.Time, limit int,
) (versions []store.JobVersion, err error) {
	err = s.readAs(ctx, pages, s.versionsOf(`SELECT `+versionColumns+`, `+noRun+` FROM (
			SELECT * FROM jobs WHERE coalesce(completed_at, cancelled_at, discarded_at) >= $1 AND state >= 4
			ORDER BY coalesce(completed_at, cancelled_at, discarded_at) DESC LIMIT $2) j
		WHERE j.account = (SELECT $3::bigint) ORDER BY coalesce(j.completed_at, j.cancelled_at, j.discarded_at) DESC LIMIT $4`,
		[]any{since.UnixMicro(), store.EndedLook, owner.Number, limit}, &versions))
	return versions, err
}

// LogGetMany implements store.Versions.
func (s *Store) LogGetMany(ctx context.Context, owner job.Owner, ids []uuid.UUID) (logs []*job.Log, err error) {
	err = s.readAs(ctx, pages, logsOf(owner, `SELECT `+logColumns+` FROM `+listOf(`uuid`)+
		` JOIN logs l ON l.account = i.account AND l.id = i.key WHERE l.inserted_at <= $3`,
		[]any{owner.Number, ids, s.Now().UnixMicro()}, &logs))
	return logs, err
}
