package service

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/punctual-dev/punctual/internal/job"
)

const (
	// usedJobs is how many of the newest jobs are read for the labels in use, fewer if
	// they are large, and usedSchedules how many of the newest schedules.
	usedJobs, usedSchedules = 300, 100
	// usedKept is how many labels of a kind are returned.
	usedKept = 30
)

// Used are the labels in use, those of most records first.
type Used struct {
	Hosts, Tags []string
}

// LabelsUsed returns up to 30 hosts and 30 tags of the owner's newest 300 jobs and newest
// 100 schedules, for completion. It reads no more of a large account than of a small one.
func (s *Service) LabelsUsed(ctx context.Context, owner job.Owner) (Used, error) {
	hosts, tags := map[string]int{}, map[string]int{}
	count := func(args []byte) {
		labels := job.LabelsOf(args)
		if labels.Host != "" {
			hosts[labels.Host]++
		}
		for _, tag := range labels.Tags {
			tags[tag]++
		}
	}
	_, _, err := s.Store.JobScan(ctx, owner, job.Query{ListQuery: job.ListQuery{Limit: 1}}, usedJobs, func(j *job.Job) bool {
		count(j.Args)
		return false
	})
	if err != nil {
		return Used{}, err
	}
	page, err := s.Schedules(ctx, owner, job.ScheduleQuery{ListQuery: job.ListQuery{Limit: usedSchedules}})
	if err != nil {
		return Used{}, err
	}
	for _, one := range page.Items {
		count(one.Args)
	}
	return Used{Hosts: mostUsed(hosts), Tags: mostUsed(tags)}, nil
}

// mostUsed returns the labels with the highest counts, in alphabetical order where they
// are equal.
func mostUsed(counts map[string]int) []string {
	labels := slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b))
	})
	return labels[:min(len(labels), usedKept)]
}
