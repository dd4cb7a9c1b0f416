package sqlite

import (
	"fmt"

	"zombiezen.com/go/sqlite"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
)

// labels returns the columns host and tags of a record.
func labels(args rawjson.Value) (host any, tags rawjson.Value) {
	l := job.LabelsOf(args)
	l.Tags = job.StoredTags(args)
	if len(l.Tags) > 0 {
		elements := make([]rawjson.Value, len(l.Tags))
		for i, tag := range l.Tags {
			elements[i] = rawjson.Quote(tag)
		}
		tags = rawjson.Array(elements)
	}
	return orNull(l.Host), tags
}

// tagTable is a table with a row for each tag of a record. Statements keep it
// current, not triggers: a statement with a trigger copies every page before it
// changes it, also for records without tags.
type tagTable struct{ name, key, of, row string }

var (
	jobTags      = tagTable{"job_tags", "number", "jobs", "number"}
	scheduleTags = tagTable{"schedule_tags", "id", "schedules", "id"}
)

// tag stores the tags of a record.
func (t *tx) tag(table tagTable, account int64, key any, tags rawjson.Value) error {
	for _, tag := range rawjson.Elements(tags) {
		err := t.exec(`INSERT INTO `+table.name+` (account, tag, `+table.key+`) VALUES (?, ?, ?) ON CONFLICT DO NOTHING`, account,
			rawjson.Text(tag), key)
		if err != nil {
			return fmt.Errorf("storing a tag: %w", err)
		}
	}
	return nil
}

// storedTags returns the account and the tags of a record, which are nil if there are
// none.
func (t *tx) storedTags(table tagTable, key any) (account int64, tags rawjson.Value, err error) {
	err = t.query(`SELECT account, tags FROM `+table.of+` WHERE `+table.row+` = ?`, func(stmt *sqlite.Stmt) error {
		c := &columns{stmt: stmt}
		account, tags = c.int64(), c.json()
		return nil
	}, key)
	return account, tags, err
}

// untag deletes the tags of a record.
func (t *tx) untag(table tagTable, account int64, key any, tags rawjson.Value) error {
	for _, tag := range rawjson.Elements(tags) {
		err := t.exec(`DELETE FROM `+table.name+` WHERE account = ? AND tag = ? AND `+table.key+` = ?`, account, rawjson.Text(tag), key)
		if err != nil {
			return fmt.Errorf("deleting a tag: %w", err)
		}
	}
	return nil
}

// retag replaces the stored tags of a record, before its own column is changed.
func (t *tx) retag(table tagTable, key any, tags rawjson.Value) error {
	account, old, err := t.storedTags(table, key)
	if err == nil {
		err = t.untag(table, account, key, old)
	}
	if err == nil {
		err = t.tag(table, account, key, tags)
	}
	return err
}

// deleteTagged runs a statement that deletes the record with a key, if its other
// conditions hold, and then deletes the record's tags. It reports whether the
// record was deleted.
func (t *tx) deleteTagged(table tagTable, key any, statement string, args ...any) (deleted bool, err error) {
	account, tags, err := t.storedTags(table, key)
	if err != nil {
		return false, err
	}
	if err := t.exec(statement, args...); err != nil || t.changed() == 0 {
		return false, err
	}
	return true, t.untag(table, account, key, tags)
}
