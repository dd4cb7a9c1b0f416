package service

import (
	"context"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/access"
	"github.com/punctual-dev/punctual/internal/audit"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
)

// Mute keeps the failures of a schedule that matches from being sent by alerts, as a
// request's body says. The schedule goes on running. It returns a Conflict fault if the
// body has "recovered" and the schedule is not failing.
func (s *Service) Mute(ctx context.Context, owner job.Owner, id uuid.UUID, body rawjson.Value, match Match) (*job.Mute, error) {
	if err := access.Allow(ctx, "service.Mute"); err != nil {
		return nil, err
	}
	asked, err := job.ReadMute(body, s.Store.Now())
	if err != nil {
		return nil, err
	}
	of, err := s.Store.ScheduleGet(ctx, owner, id)
	if err != nil {
		return nil, err
	}
	m := &job.Mute{Account: owner.Number, Schedule: id, Until: asked.Until, Note: asked.Note}
	if err := s.Store.MutePut(ctx, m, asked.Recovered, match.revised("schedule")); err != nil {
		return nil, err
	}
	s.Audit.Edited(ctx, owner, audit.ScheduleMuted, scheduleDetail(of)+muteDetail(m))
	s.mutesChanged(owner)
	return m, nil
}

// Unmute lets alerts send the failures of a schedule that matches again.
func (s *Service) Unmute(ctx context.Context, owner job.Owner, id uuid.UUID, match Match) error {
	if err := access.Allow(ctx, "service.Unmute"); err != nil {
		return err
	}
	of, err := s.Store.ScheduleGet(ctx, owner, id)
	if err != nil {
		return err
	}
	unmuted, err := s.Store.MuteDelete(ctx, owner.Number, id, match.revised("schedule"))
	if err == nil && unmuted {
		s.Audit.Edited(ctx, owner, audit.ScheduleUnmuted, scheduleDetail(of))
		s.mutesChanged(owner)
	}
	return err
}

// mutesChanged lets open pages show the change.
func (s *Service) mutesChanged(owner job.Owner) {
	if s.Listener != nil {
		s.Listener.Wake(owner.Number)
	}
}

// Mutes returns the mutes in force of some of the owner's schedules, or of all for nil.
func (s *Service) Mutes(ctx context.Context, owner job.Owner, schedules []uuid.UUID) (map[uuid.UUID]*job.Mute, error) {
	found, err := s.Store.MuteList(ctx, owner.Number, schedules)
	mutes := make(map[uuid.UUID]*job.Mute, len(found))
	for _, m := range found {
		mutes[m.Schedule] = m
	}
	return mutes, err
}
