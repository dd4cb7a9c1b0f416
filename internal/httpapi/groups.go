package httpapi

import (
	"math"
	"net/http"
	"net/url"
	"strconv"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
)

func (s *Server) listGroups(c *call) error {
	q := c.query()
	most, offset := q.whole("limit", 1, 100, 100), q.whole("offset", 0, math.MaxInt32, 0)
	if err := fault.Refuse(q.Problems); err != nil {
		return err
	}
	var page []*job.Group
	after, skip, size := "", offset, 0
	// An account has a bounded number of groups, which are read in parts.
	for more := true; more && len(page) <= most; {
		found, err := s.Service.Groups(c.r.Context(), c.owner, after, groupsPart)
		if err != nil {
			return err
		}
		more = len(found) == groupsPart
		for _, g := range found {
			if after = g.Name; skip > 0 {
				skip--
				continue
			}
			if size += g.Size(); len(page) < most && (size <= groupsBytes || len(page) == 0) {
				page = append(page, g)
				continue
			}
			c.linkOffset(len(page), offset)
			return writeList(c, page, appendGroup)
		}
	}
	return writeList(c, page, appendGroup)
}

// groupsPart is how many groups are read at once, groupsBytes how many bytes a list has.
const (
	groupsPart  = 50
	groupsBytes = 4 << 20
)

func (s *Server) getGroup(c *call) error {
	found, err := s.Service.Group(c.r.Context(), c.owner, c.r.PathValue("name"))
	if err != nil {
		return err
	}
	c.setRevision(found.Revision())
	return c.writeRecord(http.StatusOK, func(b []byte) []byte { return appendGroup(b, found) })
}

func (s *Server) putGroup(c *call) error {
	body, err := c.readBody()
	if err != nil {
		return err
	}
	stored, created, err := s.Service.SetGroup(c.r.Context(), c.owner, c.r.PathValue("name"), body, conditions(c.r.Header))
	if err != nil {
		return err
	}
	status := http.StatusOK
	if created {
		status = http.StatusCreated
		c.Header().Set("Location", "/api/groups/"+url.PathEscape(stored.Name))
	}
	c.setRevision(stored.Revision())
	return c.writeRecord(status, func(b []byte) []byte { return appendGroup(b, stored) })
}

func (s *Server) deleteGroup(c *call) error {
	if err := s.Service.DeleteGroup(c.r.Context(), c.owner, c.r.PathValue("name"), conditions(c.r.Header)); err != nil {
		return err
	}
	c.WriteHeader(http.StatusNoContent)
	return nil
}

func appendGroup(b []byte, g *job.Group) []byte {
	b = rawjson.AppendText(append(b, `{"name":`...), g.Name)
	b = append(append(b, `,"targets":`...), g.Targets...)
	b = appendInstant(append(b, `,"inserted_at":`...), g.InsertedAt)
	b = appendInstant(append(b, `,"updated_at":`...), g.UpdatedAt)
	return append(strconv.AppendInt(append(b, `,"revision":`...), g.Revision(), 10), '}')
}
