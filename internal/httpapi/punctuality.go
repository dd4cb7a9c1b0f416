package httpapi

import (
	"net/http"
	"strconv"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/stats"
)

// punctuality is the path at which the service reports its own lateness.
const punctuality = "/api/punctuality"

func (s *Server) getPunctuality(c *call) error {
	p, err := s.Stats.Punctuality(c.r.Context())
	if err != nil {
		return err
	}
	return c.writeRecord(http.StatusOK, func(b []byte) []byte {
		b = append(b, `{"at":"`...)
		b = append(append(b, job.FormatTime(p.At)...), '"')
		b = appendLateness(append(b, `,"hour":`...), &p.Hour)
		b = appendLateness(append(b, `,"day":`...), &p.Day)
		return append(appendLateness(append(b, `,"week":`...), &p.Week), '}')
	})
}

func appendLateness(b []byte, l *stats.Lateness) []byte {
	b = append(append(b, `{"since":"`...), job.FormatTime(l.Since)...)
	b = strconv.AppendUint(append(b, `","attempts":`...), l.Attempts, 10)
	b = appendMillis(append(b, `,"lateness_ms":{"p50":`...), l.P50)
	b = appendMillis(append(b, `,"p99":`...), l.P99)
	b = appendMillis(append(b, `,"p999":`...), l.P999)
	return append(appendMillis(append(b, `,"worst":`...), l.Worst), `}}`...)
}
