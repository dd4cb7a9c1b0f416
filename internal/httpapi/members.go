package httpapi

import (
	"math"
	"net/http"
	"strings"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/auth"
	"github.com/punctual-dev/punctual/internal/edge"
	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/identity"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
)

func (s *Server) listMembers(c *call) error {
	q := c.query()
	most, offset := q.whole("limit", 1, 100, 100), q.whole("offset", 0, math.MaxInt32, 0)
	if err := fault.Refuse(q.Problems); err != nil {
		return err
	}
	all, err := s.Members.List(c.r.Context(), c.owner)
	if err != nil {
		return err
	}
	page := all[min(offset, len(all)):]
	if len(page) > most {
		page = page[:most]
		c.linkOffset(most, offset)
	}
	return writeList(c, page, func(b []byte, m *identity.Member) []byte { return append(appendMember(b, m), '}') })
}

// appendMember appends a member without the closing brace.
func appendMember(b []byte, m *identity.Member) []byte {
	state := "member"
	if m.Invited() {
		state = "invited"
	}
	b = append(b, `{"id":"`...)
	b = append(b, m.ID.String()...)
	b = rawjson.AppendText(append(b, `","email":`...), m.Email)
	b = rawjson.AppendText(append(b, `,"role":`...), string(m.Role))
	return rawjson.AppendText(append(b, `,"state":`...), state)
}

// readMember reads a body with the fields of a member, of which known are required.
func (c *call) readMember(known ...string) (fields map[string]string, err error) {
	body, err := c.readBody()
	if err != nil {
		return nil, err
	}
	var problems fault.Problems
	if body.Kind() != '{' {
		problems.Add(fault.Problem{Pointer: "#", Detail: "must be a JSON object"})
		return nil, problems.Err()
	}
	fields = map[string]string{}
	unknown := map[string]bool{}
	for _, m := range rawjson.Members(body) {
		unknown[m.Name] = true
		fields[m.Name] = ""
		if m.Value.Kind() == '"' {
			fields[m.Name] = rawjson.Text(m.Value)
		}
	}
	for _, name := range known {
		delete(unknown, name)
		if text, given := fields[name]; !given {
			problems.Add(fault.Problem{Pointer: job.Pointer(name), Detail: "is required"})
		} else if detail := auth.CheckMember(name, text); detail != "" {
			problems.Add(fault.Problem{Pointer: job.Pointer(name), Detail: detail})
		}
	}
	for _, m := range rawjson.Members(body) {
		if unknown[m.Name] {
			problems.Add(fault.Problem{Pointer: job.Pointer(m.Name),
				Detail: "is not a known field; the known ones are " + strings.Join(known, " and ")})
			delete(unknown, m.Name)
		}
	}
	return fields, problems.Err()
}

func (s *Server) inviteMember(c *call) error {
	fields, err := c.readMember("email", "role")
	if err != nil {
		return err
	}
	m, link, err := s.Members.Invite(c.r.Context(), c.owner, fields["email"], identity.Role(fields["role"]), edge.Origin(c.r), c.actor())
	if err != nil {
		return err
	}
	c.Header().Set("Location", "/api/account/members/"+m.ID.String())
	return c.writeRecord(http.StatusCreated, func(b []byte) []byte {
		return append(rawjson.AppendText(append(appendMember(b, m), `,"link":`...), link), '}')
	})
}

// memberID returns the ID of the member that the path names.
func (c *call) memberID() (uuid.UUID, error) {
	id, ok := job.ParseID(c.r.PathValue("member_id"))
	if !ok {
		return id, fault.NoSuch("member")
	}
	return id, nil
}

func (s *Server) changeMember(c *call) error {
	id, err := c.memberID()
	if err != nil {
		return err
	}
	fields, err := c.readMember("role")
	if err != nil {
		return err
	}
	m, err := s.Members.Change(c.r.Context(), c.owner, id, identity.Role(fields["role"]), c.actor())
	if err != nil {
		return err
	}
	return c.writeRecord(http.StatusOK, func(b []byte) []byte { return append(appendMember(b, m), '}') })
}

func (s *Server) removeMember(c *call) error {
	id, err := c.memberID()
	if err != nil {
		return err
	}
	if err := s.Members.Remove(c.r.Context(), c.owner, id, uuid.Nil, c.actor()); err != nil {
		return err
	}
	c.WriteHeader(http.StatusNoContent)
	return nil
}
