package httpapi

import (
	"net/http"
	"strconv"
	"time"

	"github.com/punctual-dev/punctual/internal/auth"
	"github.com/punctual-dev/punctual/internal/quota"
	"github.com/punctual-dev/punctual/internal/rawjson"
)

func (s *Server) getAccount(c *call) error {
	a, err := s.Auth.CurrentAccount(c.r.Context(), c.owner.Number)
	if err != nil {
		return err
	}
	limits, err := s.Quotas.Limits(c.r.Context(), a.Number)
	if err != nil {
		return err
	}
	usage, err := s.Quotas.Usage(c.r.Context(), a.Number, limits)
	if err != nil {
		return err
	}
	keys, err := s.Auth.PublicKeys(c.r.Context(), a)
	if err != nil {
		return err
	}
	return c.writeRecord(http.StatusOK, func(b []byte) []byte {
		b = append(b, `{"id":"`...)
		b = append(b, a.ID.String()...)
		b = append(b, `","email":`...)
		b = rawjson.AppendText(b, a.Email)
		b = appendLimits(append(b, `,"limits":`...), limits)
		b = appendUsage(append(b, `,"usage":`...), usage)
		b = append(b, `,"retention_seconds":`...)
		if s.Retention > 0 {
			b = strconv.AppendInt(b, int64(s.Retention/time.Second), 10)
		} else {
			b = append(b, `null`...)
		}
		b = append(b, `,"signing_public_keys":[`...)
		for i, key := range keys {
			if i > 0 {
				b = append(b, ',')
			}
			b = rawjson.AppendText(b, key)
		}
		return append(b, "]}"...)
	})
}

// appendLimits appends the limits of an account; null means unlimited.
func appendLimits(b []byte, l quota.Limits) []byte {
	b = append(b, `{"calls_per_second":`...)
	if l.Rate > 0 {
		b = strconv.AppendFloat(b, float64(l.Rate), 'f', -1, 64)
	} else {
		b = append(b, `null`...)
	}
	b = appendLimit(append(b, `,"pending_jobs":`...), l.Pending)
	b = appendLimit(append(b, `,"schedules":`...), l.Schedules)
	b = appendLimit(append(b, `,"stored_bytes":`...), l.Stored)
	b = append(b, `,"keys":`...)
	b = strconv.AppendInt(b, auth.MaxKeys, 10)
	b = append(b, `,"body_bytes":`...)
	return append(strconv.AppendInt(b, maxBody, 10), '}')
}

func appendLimit(b []byte, limit int64) []byte {
	if limit == 0 {
		return append(b, `null`...)
	}
	return strconv.AppendInt(b, limit, 10)
}

// appendUsage appends what an account uses of its limits; null means unknown.
func appendUsage(b []byte, u quota.Usage) []byte {
	b = append(b, `{"pending_jobs":`...)
	b = strconv.AppendInt(b, u.Pending, 10)
	b = append(b, `,"schedules":`...)
	b = strconv.AppendInt(b, u.Schedules, 10)
	b = append(b, `,"stored_bytes":`...)
	if u.SampledAt.IsZero() {
		b = append(b, `null`...)
	} else {
		b = strconv.AppendInt(b, u.Stored, 10)
	}
	return append(appendInstant(append(b, `,"sampled_at":`...), u.SampledAt), '}')
}
