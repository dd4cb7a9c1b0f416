package records

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/store"
)

var mutes = Table[job.Mute]{
	Name: "schedule_mutes", Key: []string{"account", "schedule"},
	Columns: []Column[job.Mute]{
		{"account", func(m *job.Mute) any { return &m.Account }},
		{"schedule", func(m *job.Mute) any { return &m.Schedule }},
		{"until", func(m *job.Mute) any { return &m.Until }},
		{"failing_since", func(m *job.Mute) any { return &m.FailingSince }},
		{"note", func(m *job.Mute) any { return &m.Note }},
		{"muted_at", func(m *job.Mute) any { return &m.MutedAt }},
	},
}

// muteInForce selects the mutes m of the account $1 that are in force at $2: their time
// has not come, and the failures that they acknowledge have not ended.
const muteInForce = `(m.until IS NULL OR m.until > $2) AND EXISTS (SELECT 1 FROM schedules s
	WHERE s.account = m.account AND s.id = m.schedule AND (m.failing_since IS NULL OR m.failing_since = s.failing_since) OFFSET 0)`

// MutePut implements store.Mutes. It deletes the mutes that are no longer in force, so
// that they don't pile up.
func (r *Records) MutePut(ctx context.Context, m *job.Mute, recovered bool, holds func(revision int64) error) error {
	return r.engine.Write(ctx, func(t Tx) ([]Query, error) {
		var others int
		since, err := findMuted(t, m.Account, m.Schedule, holds, Query{
			SQL:  `SELECT count(*) FROM schedule_mutes m WHERE m.account = $1 AND m.schedule <> $3 AND ` + muteInForce,
			Args: []any{m.Account, t.Now(), m.Schedule}, Row: into(&others),
		})
		switch {
		case err != nil:
			return nil, err
		case recovered && since.IsZero():
			return nil, store.ErrNotFailing
		case others >= job.MaxMutes:
			return nil, store.ErrTooManyMutes
		}
		m.MutedAt, m.FailingSince = t.Now(), time.Time{}
		if recovered {
			m.FailingSince = since
		}
		return []Query{
			{SQL: `DELETE FROM schedule_mutes AS m WHERE m.account = $1 AND NOT (` + muteInForce + `)`, Args: []any{m.Account, t.Now()}},
			mutes.Put(m),
		}, nil
	})
}

// findMuted reads a schedule that is to be muted or unmuted, checks the condition and runs
// further queries. It returns since when the schedule fails.
func findMuted(t Tx, account int64, schedule uuid.UUID, holds func(revision int64) error, more ...Query) (failing time.Time, err error) {
	found, revision := false, int64(0)
	err = t.Run(append([]Query{lockAccount(account), {
		SQL:   `SELECT revision, failing_since FROM schedules WHERE account = $1 AND id = $2`,
		Args:  []any{account, schedule},
		Start: func() { found = false },
		Row: func(row Row) error {
			found = true
			return scan(row, &revision, &failing)
		},
	}}, more...)...)
	switch {
	case err != nil:
		return failing, err
	case !found:
		return failing, fault.NoSuch("schedule")
	case holds != nil:
		return failing, holds(revision)
	}
	return failing, nil
}

// MuteDelete implements store.Mutes.
func (r *Records) MuteDelete(
	ctx context.Context, account int64, schedule uuid.UUID, holds func(revision int64) error,
) (unmuted bool, err error) {
	err = r.engine.Write(ctx, func(t Tx) ([]Query, error) {
		var found []*job.Mute
		_, err := findMuted(t, account, schedule, holds, readMute(&found, account, t.Now(), schedule))
		unmuted = len(found) > 0
		if err != nil {
			return nil, err
		}
		return []Query{{SQL: `DELETE FROM schedule_mutes WHERE account = $1 AND schedule = $2`, Args: []any{account, schedule}}}, nil
	})
	return unmuted, err
}

// readMute reads the mute of a schedule, if it is in force.
func readMute(found *[]*job.Mute, account int64, now time.Time, schedule uuid.UUID) Query {
	return mutes.Select(found, nil, `m WHERE m.account = $1 AND m.schedule = $3 AND `+muteInForce, account, now, schedule)
}

// MuteList implements store.Mutes.
func (r *Records) MuteList(ctx context.Context, account int64, schedules []uuid.UUID) (found []*job.Mute, err error) {
	now := r.engine.Now()
	if schedules == nil {
		return read(ctx, r, Pages, &mutes, `m WHERE m.account = $1 AND `+muteInForce+` ORDER BY m.schedule LIMIT $3`, account, now,
			job.MaxMutes)
	}
	each, queries := make([][]*job.Mute, len(schedules)), make([]Query, len(schedules))
	for i, schedule := range schedules {
		queries[i] = readMute(&each[i], account, now, schedule)
	}
	if err := r.engine.Read(ctx, Pages, queries...); err != nil {
		return nil, err
	}
	for _, one := range each {
		found = append(found, one...)
	}
	return found, nil
}

// MuteCopy implements store.Mutes.
func (r *Records) MuteCopy(ctx context.Context, m *job.Mute) error {
	return r.write(ctx, mutes.InsertNew(m))
}

// ReadMuted returns a query for the schedules of an account that are muted.
func ReadMuted(muted *map[uuid.UUID]bool, account int64, now time.Time) Query {
	return Query{
		SQL:   `SELECT m.schedule FROM schedule_mutes m WHERE m.account = $1 AND ` + muteInForce + ` LIMIT $3`,
		Args:  []any{account, now, job.MaxMutes},
		Start: func() { *muted = map[uuid.UUID]bool{} },
		Row: func(row Row) error {
			var schedule uuid.UUID
			err := row.Scan(&schedule)
			(*muted)[schedule] = true
			return err
		},
	}
}
