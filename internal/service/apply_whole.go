package service

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/punctual-dev/punctual/internal/audit"
	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/store"
)

// applyWhole is Apply for a document whose schedules each name their owner. Its tag is
// that of the schedules that it lists; it removes none.
func (s *Service) applyWhole(ctx context.Context, owner job.Owner, d *job.Document, match func(tag string) error) (*Applied, error) {
	if err := s.admitOwners(ctx, owner, d); err != nil {
		return nil, err
	}
	a := &applying{document: d}
	check := func(h *store.Holders) error {
		a.entries = entriesOf(h)
		if err := match(job.DocumentTag(a.entries)); err != nil {
			return err
		}
		return a.checkOwners(h)
	}
	puts := make([]Put, 0, len(d.Items))
	for _, item := range d.Items {
		puts = append(puts, Put{Key: item.Key, Draft: item.Draft, Document: item.Owner})
	}
	done, err := s.putAll(ctx, owner, puts, putOptions{check: check, dryRun: d.DryRun})
	if err != nil {
		return nil, err
	}
	applied := &Applied{Results: a.results(puts, done), Tag: job.DocumentTag(a.entries)}
	if d.DryRun {
		return applied, nil
	}
	applied.Tag = job.DocumentTag(a.after(puts, done))
	if edited := applyDetail("", applied.Results); edited != "" {
		s.Audit.Edited(ctx, owner, audit.DocumentApplied, edited)
	}
	return applied, nil
}

// entriesOf returns the schedules that hold keys, ordered by key.
func entriesOf(h *store.Holders) []job.DocumentEntry {
	var entries []job.DocumentEntry
	for _, holder := range h.Keys {
		if s := holder.Schedule; s != nil {
			entries = append(entries, job.DocumentEntry{ID: s.ID, Key: *s.Key, Revision: s.Revision})
		}
	}
	slices.SortFunc(entries, func(x, y job.DocumentEntry) int { return strings.Compare(x.Key, y.Key) })
	return entries
}

// admitOwners returns an Invalid fault if a document would give an owner more schedules
// than one may have.
func (s *Service) admitOwners(ctx context.Context, owner job.Owner, d *job.Document) error {
	listed := map[string]map[string]bool{}
	for _, item := range d.Items {
		if item.Owner == "" {
			continue
		}
		if listed[item.Owner] == nil {
			listed[item.Owner] = map[string]bool{}
		}
		listed[item.Owner][item.Key] = true
	}
	for name, keys := range listed {
		entries, err := s.Store.DocumentEntries(ctx, owner, name)
		if err != nil {
			return err
		}
		n := len(keys)
		for _, e := range entries {
			if !keys[e.Key] {
				n++
			}
		}
		if n > job.MaxDocumentEntries {
			return tooManyEntries(name, n)
		}
	}
	return nil
}

func tooManyEntries(owner string, n int) error {
	return fault.New(fault.Invalid, fmt.Sprintf("owner %q would have %d schedules; the most is %d, so use several owners", owner, n,
		job.MaxDocumentEntries))
}
