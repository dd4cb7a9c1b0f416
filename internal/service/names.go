package service

import (
	"errors"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/store"
)

// nameTries is how often a request is read again because what it names was deleted before
// it was stored.
const nameTries = 4

// whileGone calls f, which reads a request and stores what it asks for, again while what
// the request names is deleted in between. The next reading reports that it is not known.
func whileGone[R any](f func() (R, error)) (result R, err error) {
	for range nameTries {
		if result, err = f(); !errors.Is(err, store.ErrNameGone) {
			break
		}
	}
	return result, err
}

// IsNameGone reports whether nothing was stored because what a request names was deleted
// after it was read. Reading it again reports which.
func IsNameGone(err error) bool { return errors.Is(err, store.ErrNameGone) }

// namesOfSchedule returns what a schedule names.
func namesOfSchedule(s *job.Schedule) []store.Name { return store.NamesOf(s.Args, &s.Hidden) }

// addNames sets what a changed schedule names that it did not name before. changes may be
// nil.
func addNames(snapshot *store.Snapshot, changes *store.Changes) {
	if changes != nil && changes.Schedule != nil {
		changes.Names = store.NamesAdded(namesOfSchedule(snapshot.Schedule), namesOfSchedule(changes.Schedule))
	}
}

// startNames sets what the next run of a schedule names that had none. changes may be nil.
func startNames(snapshot *store.Snapshot, changes *store.Changes) {
	if changes != nil && changes.Next != nil && !snapshot.Schedule.Live() {
		changes.Names = namesOfSchedule(snapshot.Schedule)
	}
}
