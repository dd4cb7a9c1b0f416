package sqlite

import (
	"fmt"

	"github.com/punctual-dev/punctual/internal/job"
)

// addSecretUses records the names of the secrets that an unfinished job uses.
func (t *tx) addSecretUses(j *job.Job, names []string) error {
	if j.State.Final() {
		return nil
	}
	for _, name := range names {
		if err := t.exec(`INSERT INTO secret_uses (account, name, job) VALUES (?, ?, ?) ON CONFLICT DO NOTHING`, j.Owner.Number, name,
			j.Number); err != nil {
			return fmt.Errorf("storing which secrets a job uses: %w", err)
		}
	}
	return nil
}

// removeSecretUses deletes what addSecretUses recorded.
func (t *tx) removeSecretUses(j *job.Job) error {
	if err := t.exec(`DELETE FROM secret_uses WHERE job = ?`, j.Number); err != nil {
		return fmt.Errorf("deleting which secrets a job uses: %w", err)
	}
	return nil
}
