package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// Skipped is how a restore knew which job numbers may have been assigned since the backup.
type Skipped string

const (
	// SkippedGiven: the caller gave the next number.
	SkippedGiven Skipped = "given"
	// SkippedKnown: the file of numbers beside the database says so.
	SkippedKnown Skipped = "known"
	// SkippedEstimated: without that file, at estimatedFactor times the rate of the
	// busiest hour in the backup for the time since the backup.
	SkippedEstimated Skipped = "estimated"
)

const (
	estimatedFactor = 10
	// minSkipped is how many numbers an estimate skips at least. A copy made seconds before
	// the loss has no busy hour that tells of a burst.
	minSkipped = numbersStep / 2
	// maxPerSecond is an upper bound of the jobs that one file can store per second.
	maxPerSecond = 100_000
)

// skipNumbers raises the sequence of job numbers of a restored database above all that
// can have been assigned between the backup and now. path is where it is restored to.
func skipNumbers(conn *sqlite.Conn, path string, nextJob int64, now time.Time, result *RestoreResult) (err error) {
	if result.At, err = madeAt(conn); err != nil {
		return err
	}
	if result.LastJob, err = number(conn, lastNumber); err != nil {
		return err
	}
	last := nextJob - 1
	if nextJob > 0 {
		result.Skipped = SkippedGiven
	} else if last, err = lastAssigned(conn, path, now, result); err != nil {
		return err
	}
	if last < result.LastJob || last >= maxNumber {
		return fmt.Errorf("the next job can't have the number %d; choose one above %d and up to %d with --next-job", last+1, result.LastJob,
			int64(maxNumber))
	}
	result.NextJob = last + 1
	return sqlitex.ExecuteScript(conn, `
		DROP TABLE IF EXISTS backup;
		INSERT INTO sqlite_sequence (name, seq) SELECT 'jobs', 0 WHERE NOT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = 'jobs');
		UPDATE sqlite_sequence SET seq = :last WHERE name = 'jobs';`,
		&sqlitex.ExecOptions{Named: map[string]any{":last": last}})
}

// lastAssigned returns a number above which no job can have been stored since the backup,
// and records how it is known.
func lastAssigned(conn *sqlite.Conn, path string, now time.Time, result *RestoreResult) (int64, error) {
	covered, err := coveredBeside(path, conn)
	if err != nil {
		return 0, err
	}
	// A file with less belongs to an earlier life of the database on this machine.
	if covered > 0 && covered >= result.LastJob {
		result.Skipped = SkippedKnown
		return covered, nil
	}
	result.Skipped = SkippedEstimated
	busiest, err := number(conn, `SELECT coalesce(max(n), 0) FROM (SELECT count(*) AS n FROM jobs GROUP BY inserted_at / 3600000000)`)
	if err != nil {
		return 0, err
	}
	elapsed := int64(max(now.Sub(result.At), 0)/time.Second) + 1
	if busiest == 0 { // no job tells the age of a copy made by other means
		elapsed = min(elapsed, 24*3600)
	}
	rate := min(busiest*estimatedFactor/3600+1, maxPerSecond)
	return roundUp(result.LastJob+max(elapsed*rate, minSkipped), numbersStep), nil
}

// coveredBeside returns the number in the file beside a database that is to be restored;
// 0 without a file of this database.
func coveredBeside(path string, conn *sqlite.Conn) (int64, error) {
	id, err := databaseID(conn)
	if err != nil || id == "" {
		return 0, err
	}
	file, err := os.Open(path + numbersSuffix)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("reading %s: %w", path+numbersSuffix, err)
	}
	covered, err := readNumbers(file, id)
	return covered, errors.Join(err, file.Close())
}
