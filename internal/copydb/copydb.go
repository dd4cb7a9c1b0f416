package copydb

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/punctual-dev/punctual/internal/identity"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/limit"
	"github.com/punctual-dev/punctual/internal/store"
)

// Progress is the progress of a copy.
type Progress struct {
	Section  string // "jobs"
	Checking bool   // the section is being compared; it has been copied
	Records  int64  // of the section so far, without those of an earlier, interrupted copy
}

// Result is the result of a copy.
type Result struct {
	Counts  []Count // in the order of sections, including an earlier, interrupted copy
	Resumed bool    // an interrupted copy was gone on with
}

// Count is how many records of a section were copied.
type Count struct {
	Section string
	Records int64
}

// Copy copies all records from one store to another and compares the stores. The
// target must be empty or contain an interrupted copy of the same source, which
// Copy resumes; else Copy returns an Invalid fault.
//
// No attempt may be under way in the source, and no node may run on either store.
// Copy reports progress after every batch of records.
func Copy(ctx context.Context, from, to Store, progress func(Progress)) (*Result, error) {
	source, err := nameOf(ctx, from)
	if err != nil {
		return nil, err
	}
	mark, err := to.CopyBegin(ctx, source)
	if err != nil {
		return nil, err
	}
	start, err := parsePlace(mark)
	if err != nil {
		return nil, err
	}
	w := &writer{to: to, source: source, progress: progress}
	if err := walk(ctx, from, start, func(at place, r record) error { return w.add(ctx, at, r) }); err != nil {
		return nil, interrupted(ctx, err)
	}
	if err := w.flush(ctx); err != nil {
		return nil, interrupted(ctx, err)
	}
	counts, err := compare(ctx, from, to, progress)
	if err != nil {
		return nil, err
	}
	for _, copyAll := range uncompared {
		if err := copyAll(ctx, from, to); err != nil {
			return nil, interrupted(ctx, err)
		}
	}
	last, err := from.JobLast(ctx)
	if err != nil {
		return nil, interrupted(ctx, err)
	}
	if err := to.CopyEnd(ctx, source, last); err != nil {
		return nil, interrupted(ctx, err)
	}
	return &Result{Counts: counts, Resumed: mark != ""}, nil
}

// uncompared copy what is written again whole when an interrupted copy continues, after
// the rest was compared.
var uncompared = []func(ctx context.Context, from, to Store) error{
	copyBlocks, copyLimits, copySigningKeys, copyGroups, copyMutes, copyMonths, copyRuns,
}

// copyBlocks copies the blocked targets, which are few and belong to no account.
func copyBlocks(ctx context.Context, from, to Store) error {
	blocked, err := from.TargetBlocks(ctx)
	for i := 0; err == nil && i < len(blocked); i++ {
		err = to.TargetBlock(ctx, &blocked[i])
	}
	if err != nil {
		return fmt.Errorf("copying the blocked targets: %w", err)
	}
	return nil
}

// copySigningKeys copies the keys that sign requests and tokens, as they are stored.
func copySigningKeys(ctx context.Context, from, to Store) error {
	account, number := int64(-1), int64(0)
	for {
		page, err := from.SigningKeyPage(ctx, account, number, maxPage)
		if err != nil || len(page) == 0 {
			return err
		}
		for i := range page {
			if _, err := to.SigningKeyAdd(ctx, &page[i], time.Time{}); err != nil {
				return fmt.Errorf("copying the signing keys: %w", err)
			}
		}
		account, number = page[len(page)-1].Account, page[len(page)-1].Number
	}
}

// copyLimits copies the limits for receivers, which are few. What they have
// granted is not copied: no attempt is under way during a copy.
func copyLimits(ctx context.Context, from, to Store) error {
	accounts, err := from.AccountList(ctx)
	for i := 0; err == nil && i < len(accounts); i++ {
		var limits []store.Limit
		limits, err = from.LimitList(ctx, accounts[i].Owner, "", limit.MaxPerAccount)
		for k := 0; err == nil && k < len(limits); k++ {
			_, err = to.LimitPut(ctx, accounts[i].Owner, limits[k], store.PutAlways)
		}
	}
	if err != nil {
		return fmt.Errorf("copying the limits: %w", err)
	}
	return nil
}

// copyGroups copies the groups of targets.
func copyGroups(ctx context.Context, from, to Store) error {
	accounts, err := from.AccountList(ctx)
	for i := 0; err == nil && i < len(accounts); i++ {
		after := ""
		for more := true; err == nil && more; {
			var groups []*job.Group
			groups, err = from.GroupList(ctx, accounts[i].Number, after, groupPage)
			for k := 0; err == nil && k < len(groups); k++ {
				after = groups[k].Name
				err = to.GroupCopy(ctx, groups[k])
			}
			more = len(groups) == groupPage
		}
	}
	if err != nil {
		return fmt.Errorf("copying the groups: %w", err)
	}
	return nil
}

// copyMutes copies which schedules are muted.
func copyMutes(ctx context.Context, from, to Store) error {
	accounts, err := from.AccountList(ctx)
	for i := 0; err == nil && i < len(accounts); i++ {
		var mutes []*job.Mute
		mutes, err = from.MuteList(ctx, accounts[i].Number, nil)
		for k := 0; err == nil && k < len(mutes); k++ {
			err = to.MuteCopy(ctx, mutes[k])
		}
	}
	if err != nil {
		return fmt.Errorf("copying the mutes: %w", err)
	}
	return nil
}

// copyMonths copies what monthly reports count.
func copyMonths(ctx context.Context, from, to Store) error {
	accounts, err := from.AccountList(ctx)
	for i := 0; err == nil && i < len(accounts); i++ {
		last := store.ScheduleMonth{}
		for more := true; err == nil && more; {
			var page []*store.ScheduleMonth
			page, err = from.MonthsPage(ctx, accounts[i].Number, last.Schedule, last.Month, maxPage)
			if more = err == nil && len(page) > 0; more {
				last = *page[len(page)-1]
				err = to.MonthsCopy(ctx, page)
			}
		}
	}
	if err != nil {
		return fmt.Errorf("copying the monthly counts: %w", err)
	}
	return nil
}

// groupPage is how many groups are read at once.
const groupPage = 20

// nameOf returns a name for a source, derived from its accounts' IDs, which are
// unique.
func nameOf(ctx context.Context, from Store) (string, error) {
	accounts, err := from.AccountList(ctx)
	if err != nil {
		return "", fmt.Errorf("reading accounts: %w", err)
	}
	if len(accounts) == 0 {
		return "", errors.New("the source has no accounts, so there is nothing to copy; is it the right database?")
	}
	slices.SortFunc(accounts, func(a, b *identity.Account) int { return bytes.Compare(a.ID[:], b.ID[:]) })
	sum := sha256.New()
	for _, a := range accounts {
		_, _ = sum.Write(a.ID[:]) // never fails
	}
	return hex.EncodeToString(sum.Sum(nil)[:16]), nil
}

// interrupted returns an error that says how to resume a copy that failed.
func interrupted(ctx context.Context, err error) error {
	const again = "start the same command again to go on"
	if ctx.Err() != nil {
		return errors.New("the copy was stopped; " + again)
	}
	return fmt.Errorf("the copy was interrupted; %s: %w", again, err)
}

// writer collects records and writes them in batches.
type writer struct {
	to       Store
	source   string
	progress func(Progress)

	records store.Records
	at      place // of the last record
	waiting int   // records
	bytes   int
	written int64 // of the section
}

func (w *writer) add(ctx context.Context, at place, r record) error {
	if w.waiting == maxPage || w.bytes > maxBytes || w.waiting > 0 && at.section != w.at.section {
		if err := w.flush(ctx); err != nil {
			return err
		}
	}
	if at.section != w.at.section {
		w.written = 0
	}
	w.at = at
	w.waiting++
	w.bytes += size(r.value)
	switch v := r.value.(type) {
	case *identity.Account:
		w.records.Accounts = append(w.records.Accounts, v)
	case *identity.Person:
		w.records.People = append(w.records.People, v)
	case *identity.Member:
		w.records.Members = append(w.records.Members, v)
	case *identity.Key:
		w.records.Keys = append(w.records.Keys, v)
	case *identity.HeaderSecret:
		w.records.HeaderSecrets = append(w.records.HeaderSecrets, v)
	case *store.Alert:
		w.records.Alerts = append(w.records.Alerts, v)
	case *store.Recipient:
		w.records.Recipients = append(w.records.Recipients, v)
	case *job.Schedule:
		w.records.Schedules = append(w.records.Schedules, v)
	case *job.Job:
		w.records.Jobs = append(w.records.Jobs, stored(v))
	case *job.Log:
		w.records.Logs = append(w.records.Logs, v)
	case *store.Request:
		w.records.Requests = append(w.records.Requests, v)
	case *store.Wait:
		w.records.Waits = append(w.records.Waits, v)
	case *store.PendingDelivery:
		w.records.Deliveries = append(w.records.Deliveries, v)
	case *identity.AuditEntry:
		w.records.Audits = append(w.records.Audits, v)
	}
	return nil
}

// stored returns a job with its lane, which is computed from its target.
func stored(j *job.Job) store.StoredJob {
	if j.State.Final() {
		return store.StoredJob{Job: j}
	}
	return store.StoredJob{Job: j, Lane: job.Lane(job.ReadSpec(j.Args).URL)}
}

func (w *writer) flush(ctx context.Context) error {
	if w.waiting == 0 {
		return nil
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := w.to.CopyWrite(ctx, w.source, w.at.String(), &w.records); err != nil {
		return fmt.Errorf("writing %s: %w", sections[w.at.section].name, err)
	}
	w.written += int64(w.waiting)
	w.records, w.waiting, w.bytes = store.Records{}, 0, 0
	w.progress(Progress{Section: sections[w.at.section].name, Records: w.written})
	return nil
}
