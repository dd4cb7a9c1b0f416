package sqlite

import (
	"fmt"

	"github.com/punctual-dev/punctual/internal/store"
	"github.com/punctual-dev/punctual/internal/store/records"
)

// gone reports whether one of the records is missing that an account's new records name.
// There is one writer, so none is deleted before these are stored.
func (t *tx) gone(account int64, names []store.Name) (bool, error) {
	for _, n := range names {
		found := false
		if err := t.Run(records.Named(account, n, &found)); err != nil {
			return false, fmt.Errorf("reading what a record names: %w", err)
		}
		if !found {
			return true, nil
		}
	}
	return false, nil
}

// goneFrom is gone for changes, which may be nil.
func (t *tx) goneFrom(account int64, changes ...*store.Changes) error {
	for _, c := range changes {
		if c == nil {
			continue
		}
		if gone, err := t.gone(account, c.NamesIn()); err != nil || gone {
			return orGone(err)
		}
	}
	return nil
}

func orGone(err error) error {
	if err == nil {
		err = store.ErrNameGone
	}
	return err
}
