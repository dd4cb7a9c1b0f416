package postgres

import (
	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/store"
)

// secretUse is a use of a secret by a job, whose number may not be known yet.
type secretUse struct {
	account int64
	name    string
	job     uuid.UUID
}

// insertSecretUses records which secrets unfinished jobs use. The jobs must have
// been stored by an earlier statement; it skips those that have not been.
func insertSecretUses[T any](jobs []T, of func(*T) *job.Job) []query {
	var uses []secretUse
	for i := range jobs {
		j := of(&jobs[i])
		for _, name := range job.SecretNames(j) {
			uses = append(uses, secretUse{j.Owner.Number, name, j.ID})
		}
	}
	if len(uses) == 0 {
		return nil
	}
	return []query{{
		sql: `INSERT INTO secret_uses (account, name, job) SELECT u.account, u.name, j.number
			FROM unnest($1::bigint[], $2::text[], $3::uuid[]) AS u (account, name, id)
			JOIN jobs j ON j.account = u.account AND j.id = u.id AND j.state <= 2 ON CONFLICT DO NOTHING`,
		args: []any{
			column(uses, func(u *secretUse) int64 { return u.account }), column(uses, func(u *secretUse) string { return u.name }),
			column(uses, func(u *secretUse) uuid.UUID { return u.job }),
		},
	}}
}

func jobOfNew(n *store.NewJob) *job.Job { return n.Job }

// removeSecretUses deletes what insertSecretUses recorded for the jobs that
// which selects.
func removeSecretUses(jobs []*job.Job, which func(*job.Job) bool) []query {
	var accounts, numbers []int64
	for _, j := range jobs {
		if which(j) {
			accounts, numbers = append(accounts, j.Owner.Number), append(numbers, j.Number)
		}
	}
	if len(numbers) == 0 {
		return nil
	}
	return []query{{
		sql: `DELETE FROM secret_uses d USING unnest($1::bigint[], $2::bigint[]) AS u (account, job)
			WHERE d.account = u.account AND d.job = u.job`,
		args: []any{accounts, numbers},
	}}
}

// endedWithSecrets reports whether a changed job may have uses to delete.
func endedWithSecrets(j *job.Job) bool { return j.State.Final() && job.MayUseSecrets(j) }
