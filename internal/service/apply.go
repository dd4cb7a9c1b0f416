package service

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/punctual-dev/punctual/internal/access"
	"github.com/punctual-dev/punctual/internal/admission"
	"github.com/punctual-dev/punctual/internal/audit"
	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/store"
)

// ApplyResult is what applying a document did to one schedule.
type ApplyResult struct {
	Key     string
	Result  string // "created", "changed", "unchanged" or "removed"
	Changes []job.FieldChange
}

// Applied is what applying a document did.
type Applied struct {
	Results []ApplyResult // in the order of the document, then what was removed, by key
	Tag     string        // of the owner's schedules afterwards; see job.DocumentTag
}

// applyTries is how often Apply reads an owner's schedules again because others
// change them at the same time. Calls of one account on one node take turns.
const applyTries = 10

var errDocumentChanged = errors.New("the owner's schedules have changed")

// ReadDocument reads the document of an apply call. Its error is a fault that
// lists every problem.
func (s *Service) ReadDocument(ctx context.Context, owner job.Owner, body rawjson.Value) (*job.Document, error) {
	r, now := s.reading(ctx, owner), s.Store.Now()
	d, err := job.ReadDocument(body, func(key *string) job.ReadOptions { return r.replaceOptions(now, key) })
	return d, r.result(err)
}

// Apply makes an owner's schedules what a document says, in one transaction: all
// of it or nothing. match is called with the tag of the owner's schedules; its error
// refuses the call. The error is a Conflict fault if a key is held by a one-off job or a schedule of
// another owner.
func (s *Service) Apply(ctx context.Context, owner job.Owner, d *job.Document, match func(tag string) error) (*Applied, error) {
	if err := access.Allow(ctx, "service.Apply"); err != nil {
		return nil, err
	}
	leave, err := s.applies.enter(ctx, owner.Number)
	if err != nil {
		return nil, err
	}
	defer leave()
	if d.Owner == "" {
		return s.applyWhole(ctx, owner, d, match)
	}
	for range applyTries {
		entries, err := s.Store.DocumentEntries(ctx, owner, d.Owner)
		if err != nil {
			return nil, err
		}
		if err := match(job.DocumentTag(entries)); err != nil {
			return nil, err
		}
		a := &applying{document: d, entries: entries}
		if err := a.prune(); err != nil {
			return nil, err
		}
		applied, err := s.apply(ctx, owner, a)
		if !errors.Is(err, errDocumentChanged) {
			return applied, err
		}
	}
	return nil, fault.Busy(errDocumentChanged)
}

// applying is a document that is being applied to the entries of its owner.
type applying struct {
	document *job.Document
	entries  []job.DocumentEntry
	removed  []string // keys
}

// prune sets which schedules are removed.
func (a *applying) prune() error {
	listed := map[string]bool{}
	for _, item := range a.document.Items {
		listed[item.Key] = true
	}
	others := 0
	for _, e := range a.entries {
		if listed[e.Key] {
			continue
		}
		others++
		if a.document.Prune {
			a.removed = append(a.removed, e.Key)
		}
	}
	if n := len(a.removed); n > job.MaxDocumentItems {
		return fault.New(fault.Invalid, fmt.Sprintf("prune would remove %d schedules; one call removes at most %d, so delete some first", n,
			job.MaxDocumentItems))
	}
	if n := others + len(listed); !a.document.Prune && n > job.MaxDocumentEntries {
		return tooManyEntries(a.document.Owner, n)
	}
	return nil
}

func (s *Service) apply(ctx context.Context, owner job.Owner, a *applying) (*Applied, error) {
	puts := make([]Put, 0, len(a.document.Items)+len(a.removed))
	for _, item := range a.document.Items {
		puts = append(puts, Put{Key: item.Key, Draft: item.Draft, Document: item.Owner})
	}
	for _, key := range a.removed {
		puts = append(puts, Put{Key: key})
	}
	results, err := s.putAll(ctx, owner, puts, putOptions{check: a.check, document: a.document.Owner, dryRun: a.document.DryRun})
	if err != nil {
		return nil, err
	}
	applied := &Applied{Results: a.results(puts, results), Tag: job.DocumentTag(a.entries)}
	if !a.document.DryRun {
		applied.Tag = job.DocumentTag(a.after(puts, results))
		if edited := applyDetail(a.document.Owner, applied.Results); edited != "" {
			s.Audit.Edited(ctx, owner, audit.DocumentApplied, edited)
		}
	}
	return applied, nil
}

// check returns an error if the document can't be applied to what holds its keys.
func (a *applying) check(h *store.Holders) error {
	if !slices.Equal(h.Entries, a.entries) {
		return errDocumentChanged
	}
	if err := a.checkOwners(h); err != nil {
		return err
	}
	for i, holder := range h.Keys {
		if i >= len(a.document.Items) && (holder.Schedule == nil || holder.Schedule.Document != a.document.Owner) {
			return errDocumentChanged
		}
	}
	return nil
}

// checkOwners returns a Conflict fault if a schedule belongs to another owner than the
// document says.
func (a *applying) checkOwners(h *store.Holders) error {
	for i, holder := range h.Keys {
		owner := a.document.Owner
		if i < len(a.document.Items) {
			owner = a.document.Items[i].Owner
		}
		if s := holder.Schedule; s != nil && s.Document != "" && s.Document != owner {
			return fault.New(fault.Conflict, fmt.Sprintf(
				"the schedule with the key %q belongs to the owner %q; use another key, or remove it there",
				*s.Key, s.Document))
		}
	}
	return nil
}

func (a *applying) results(puts []Put, done []PutResult) []ApplyResult {
	results := make([]ApplyResult, len(done))
	for i, r := range done {
		results[i] = ApplyResult{Key: puts[i].Key, Result: "unchanged", Changes: r.Changes}
		switch {
		case r.Removed:
			results[i].Result = "removed"
		case r.Created:
			results[i].Result = "created"
		case len(r.Changes) > 0:
			results[i].Result = "changed"
		}
	}
	return results
}

// after returns the owner's entries once the document is applied.
func (a *applying) after(puts []Put, done []PutResult) []job.DocumentEntry {
	changed := map[string]bool{}
	var entries []job.DocumentEntry
	for i, r := range done {
		changed[puts[i].Key] = true
		if !r.Removed {
			entries = append(entries, job.DocumentEntry{ID: r.Schedule.ID, Key: puts[i].Key, Revision: r.Schedule.Revision})
		}
	}
	for _, e := range a.entries {
		if !changed[e.Key] {
			entries = append(entries, e)
		}
	}
	slices.SortFunc(entries, func(x, y job.DocumentEntry) int { return strings.Compare(x.Key, y.Key) })
	return entries
}

// ExportSchedules calls write with pages of the account's schedules that have a
// key, in the order of the keys' bytes; only those of one owner of documents unless
// document is nil.
func (s *Service) ExportSchedules(ctx context.Context, owner job.Owner, document *string, write func([]*job.Schedule) error) error {
	end, err := s.exports.begin(owner.Number)
	if err != nil {
		return err
	}
	defer end()
	for after := ""; ; {
		last, err := s.exportSchedulesPage(ctx, owner, document, after, write)
		if err != nil || last == nil {
			return err
		}
		after = *last
	}
}

// exportSchedulesPage passes a page of schedules to write and releases its bytes,
// so that an export may be larger than what its account may hold. It returns the
// last key; nil at the end.
func (s *Service) exportSchedulesPage(ctx context.Context, owner job.Owner, document *string, after string,
	write func([]*job.Schedule) error) (last *string, err error) {
	ctx, release := admission.Hold(ctx)
	defer release()
	page, err := s.Store.ScheduleKeyed(ctx, owner, document, after, schedulesPage)
	if err != nil || len(page) == 0 {
		return nil, err
	}
	return page[len(page)-1].Key, write(page)
}

// schedulesPage is how many schedules an export reads at a time.
const schedulesPage = 100
