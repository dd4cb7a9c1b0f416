package httpapi

import (
	"fmt"
	"net/http"
	"strconv"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/stats"
)

// defaultMinutes is how far statistics reach back by default.
const defaultMinutes = 60

func (s *Server) getStats(c *call) error {
	minutes := defaultMinutes
	q := c.query()
	if q.Values.Has("minutes") {
		n, err := strconv.Atoi(q.Values.Get("minutes"))
		if err != nil || n < 1 || n > stats.MaxMinutes {
			q.Refuse("minutes", fmt.Sprintf("must be a whole number from 1 to %d", stats.MaxMinutes))
		}
		minutes = n
	}
	if err := fault.Refuse(q.Problems); err != nil {
		return err
	}
	series, err := s.Stats.Series(c.r.Context(), c.owner.Number, minutes)
	if err != nil {
		return err
	}
	b := append(make([]byte, 0, 200*(minutes+1)), `{"data":[`...)
	for i := range series.Points {
		if i > 0 {
			b = append(b, ',')
		}
		p := &series.Points[i]
		b = append(b, `{"minute":"`...)
		b = append(b, job.FormatTime(p.Minute)...)
		b = append(appendPoint(append(b, `",`...), p), '}')
	}
	b = append(appendPoint(append(b, `],"total":{`...), &series.Total), `}}`...)
	return c.writeJSON(http.StatusOK, b)
}

func appendPoint(b []byte, p *stats.Point) []byte {
	for _, n := range []struct {
		name  string
		value int64
	}{{`"runs":`, p.Runs()}, {`,"succeeded":`, p.Succeeded}, {`,"failed":`, p.Failed}} {
		b = strconv.AppendInt(append(b, n.name...), n.value, 10)
	}
	b = appendTimes(append(b, `,"lateness_ms":`...), p.LatenessP50, p.LatenessP99)
	return appendTimes(append(b, `,"duration_ms":`...), p.DurationP50, p.DurationP99)
}

func appendTimes(b []byte, p50, p99 float64) []byte {
	b = stats.AppendMillis(append(b, `{"p50":`...), p50)
	return append(stats.AppendMillis(append(b, `,"p99":`...), p99), '}')
}
