package dashboard

import (
	"strings"
	"time"

	"github.com/punctual-dev/punctual/internal/dashboard/ui"
	"github.com/punctual-dev/punctual/internal/dashboard/view"
	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/naturaltime"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/service"
)

// muteSchedule mutes a schedule: until it recovers, until a time in plain words in the
// zone of the page, or until it is unmuted.
func (s *Server) muteSchedule(c *call) error {
	id, err := c.scheduleID()
	if err != nil {
		return err
	}
	until, err := c.mutedUntil(s.Service.Now())
	if err != nil {
		return err
	}
	members := []rawjson.Member{{Name: "until", Value: until}}
	if note := strings.TrimSpace(c.r.PostForm.Get("note")); note != "" {
		members = append(members, rawjson.Member{Name: "note", Value: rawjson.Quote(note)})
	}
	m, err := s.Service.Mute(c.r.Context(), c.owner(), id, rawjson.Object(members), service.Match{})
	if err != nil {
		return err
	}
	if m.Acknowledged() {
		return c.backTo(id, "acknowledged")
	}
	return c.backTo(id, "muted")
}

// mutedUntil returns the until of a form.
func (c *call) mutedUntil(now time.Time) (rawjson.Value, error) {
	text := strings.TrimSpace(c.r.PostForm.Get("when"))
	if text == "" {
		text = c.r.PostForm.Get("until")
	}
	switch text {
	case view.MuteForever:
		return rawjson.Value(`null`), nil
	case job.UntilRecovered:
		return rawjson.Quote(text), nil
	}
	timing, err := naturaltime.Parse(text, now, ui.From(c.r.Context()).Now.Location())
	at, once := timing.Once(now)
	if err != nil || !once {
		return nil, fault.New(fault.Invalid, "The time of the mute can't be read, so nothing was changed. Write one such as “in 3 hours” or “tomorrow at 9:00”.")
	}
	return rawjson.Quote(job.FormatTime(at)), nil
}

func (s *Server) unmuteSchedule(c *call) error {
	id, err := c.scheduleID()
	if err != nil {
		return err
	}
	if err := s.Service.Unmute(c.r.Context(), c.owner(), id, service.Match{}); err != nil {
		return err
	}
	return c.backTo(id, "unmuted")
}
