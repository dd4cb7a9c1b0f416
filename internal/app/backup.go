package app

import (
	"context"
	"errors"
	"fmt"

	"github.com/punctual-dev/punctual/internal/store/sqlite"
)

// Backup copies a SQLite database, which may be in use, to a new file.
func Backup(ctx context.Context, url, to string) (sqlite.BackupResult, error) {
	path, isFile := sqlitePath(url)
	if !isFile {
		return sqlite.BackupResult{}, errors.New("--database-url is not a SQLite file; back PostgreSQL up with pg_dump or your provider's means (docs/guides/operate-postgres.md)")
	}
	result, err := sqlite.Backup(ctx, path, to)
	if err != nil {
		return result, fmt.Errorf("no backup was made: %w", err)
	}
	return result, nil
}

// Restore makes a SQLite database from a backup. nextJob is the number of its next job;
// 0 to skip those that may have been assigned since the backup.
func Restore(ctx context.Context, backup, url string, nextJob int64) (sqlite.RestoreResult, error) {
	path, isFile := sqlitePath(url)
	if !isFile {
		return sqlite.RestoreResult{}, errors.New(
			"--database-url is not a SQLite file; restore PostgreSQL with its own means (docs/guides/operate-postgres.md)")
	}
	result, err := sqlite.Restore(ctx, backup, path, nextJob)
	if err != nil {
		return result, fmt.Errorf("nothing was restored: %w", err)
	}
	return result, nil
}
