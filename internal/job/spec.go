package job

import (
	"time"

	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/schedule"
)

// ReadSpec parses args that were validated on create; it checks nothing.
func ReadSpec(args rawjson.Value) Spec {
	s := defaultSpec
	for _, m := range rawjson.Members(args) {
		s.set(m.Name, m.Value)
	}
	s.applyDialect()
	return s
}

// specOf reads validated fields.
func specOf(fields map[string]rawjson.Value) Spec {
	s := defaultSpec
	for name, value := range fields {
		s.set(name, value)
	}
	s.applyDialect()
	return s
}

// applyDialect sets what a dialect says in place of other fields.
func (s *Spec) applyDialect() {
	switch d := s.Dialect; {
	case d == nil:
	case d.MaxAttempts == UnlimitedAttempts:
		s.Retries = MaxAttempts
	case d.MaxAttempts > 0:
		s.Retries = d.MaxAttempts - 1
	}
}

func (s *Spec) set(name string, v rawjson.Value) {
	if f := byName[name]; f != nil && f.set != nil {
		f.set(s, v)
	}
}

// Frequency returns how often a spec recurs, or nil for a one-off.
func (s *Spec) Frequency() (schedule.Frequency, error) {
	if s.Cron != "" {
		zone := time.UTC
		if s.Timezone != "" {
			var err error
			if zone, err = schedule.LoadZone(s.Timezone); err != nil {
				return nil, err
			}
		}
		return schedule.ParseCron(s.Cron, zone)
	}
	if s.RepeatEvery == nil {
		return nil, nil
	}
	return schedule.Interval{Every: DurationOf(s.RepeatEvery)}, nil
}
