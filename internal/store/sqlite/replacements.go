package sqlite

import (
	"slices"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/store"
)

// replacements are the new definitions of jobs whose keys several jobs of one call
// have. Each job is written once, when all have been decided about: a thousand calls
// with one key cost one update.
type replacements struct {
	keys  map[heldKey]*replaced
	order []*replaced
	read  int // the size of the jobs that were read because they hold a key
}

// heldKey is a key of an account.
type heldKey struct {
	account int64
	key     string
}

// replaced is who has a key, with what is not stored yet.
type replaced struct {
	held             store.KeyHolders
	holder, follower *replacement
}

// replacement is what is not stored yet of a job.
type replacement struct {
	changes *store.Changes
	lane    uint32
}

func keyOf(j *job.Job) heldKey { return heldKey{j.Owner.Number, *j.Key} }

// holders returns who has the key of a new job; nil if nothing about it waits to
// be stored.
func (r *replacements) holders(j *job.Job) *store.KeyHolders {
	of := r.keys[keyOf(j)]
	if of == nil {
		return nil
	}
	held := of.held
	shown := *held.Job // whoever shows it changes it
	held.Job = &shown
	return &held
}

// add takes over the decision about a new job whose key is held.
func (r *replacements) add(held *store.KeyHolders, c *store.Changes, lane uint32) {
	key := keyOf(c.Job)
	of := r.keys[key]
	if of == nil {
		if r.keys == nil {
			r.keys = map[heldKey]*replaced{}
		}
		of = &replaced{held: *held}
		r.keys[key], r.order = of, append(r.order, of)
	}
	if c.Job.ID == of.held.Job.ID {
		of.held.Job, of.holder = c.Job, of.holder.then(c, lane)
	} else {
		of.held.Follower, of.follower = c.Job, of.follower.then(c, lane)
	}
}

// follows notes that a job was stored as the follower of the one with its key.
func (r *replacements) follows(j *job.Job) {
	if of := r.keys[keyOf(j)]; of != nil {
		of.held.Follower = j
	}
}

// then returns what is left to store after one more change of the job. Older
// revisions than are kept are left out.
func (r *replacement) then(c *store.Changes, lane uint32) *replacement {
	var revisions []job.Revision
	if r != nil {
		revisions = r.changes.Revisions
	}
	revisions = slices.Concat(revisions, c.Revisions)
	return &replacement{&store.Changes{Job: c.Job, Revisions: revisions[max(0, len(revisions)-job.MaxRevisions):]}, lane}
}

// store writes the jobs that have changed.
func (r *replacements) store(t *tx) error {
	for _, of := range r.order {
		for _, changed := range []*replacement{of.holder, of.follower} {
			if changed == nil {
				continue
			}
			if err := t.replace(changed.changes, changed.lane); err != nil {
				return err
			}
		}
	}
	return nil
}
