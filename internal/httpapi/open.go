package httpapi

import (
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/punctual-dev/punctual/api"
	"github.com/punctual-dev/punctual/internal/broadcast"
	"github.com/punctual-dev/punctual/internal/docsite"
	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/rawjson"
)

func (s *Server) ping(c *call) error { return c.writeJSON(http.StatusOK, []byte(`{"message":"Pong"}`)) }

func (s *Server) echo(c *call) error {
	body, err := c.readBody()
	if err != nil {
		return err
	}
	return c.writeJSON(http.StatusOK, body)
}

// broadcast responds with the message it received, as a target for first tries. A
// page that waits for the message on its channel shows it.
func (s *Server) broadcast(c *call) error {
	body, err := c.readBody()
	if err != nil {
		return err
	}
	var problems []fault.Problem
	if body.Kind() != '{' {
		problems = append(problems, fault.Problem{Pointer: "#", Detail: "must be a JSON object"})
	}
	for _, m := range rawjson.Members(body) {
		switch m.Name {
		case "content", "author", "channel":
			if m.Value.Kind() != '"' && m.Value.Kind() != 'n' {
				problems = append(problems, fault.Problem{Pointer: "#/" + m.Name, Detail: "must be a string"})
			}
		}
	}
	if err := fault.Refuse(problems); err != nil {
		return err
	}
	s.pin(c, body)
	return c.writeJSON(http.StatusOK, body)
}

// pin publishes a message on its channel.
func (s *Server) pin(c *call, body rawjson.Value) {
	var m broadcast.Message
	channel := ""
	for _, member := range rawjson.Members(body) {
		if member.Value.Kind() != '"' {
			continue
		}
		switch member.Name {
		case "content":
			m.Content = rawjson.Text(member.Value)
		case "author":
			m.Author = rawjson.Text(member.Value)
		case "channel":
			channel = rawjson.Text(member.Value)
		}
	}
	if channel == "" {
		return
	}
	// A job's request carries these headers; any other client may send them too.
	m.Due, _ = time.Parse(time.RFC3339Nano, c.r.Header.Get("X-Punctual-Scheduled-At"))
	m.Job, _ = strconv.ParseInt(c.r.Header.Get("X-Punctual-Job-Id"), 10, 64)
	s.Broadcasts.Put(channel, m)
}

func (s *Server) healthz(c *call) error { return c.writeJSON(http.StatusOK, []byte(`{"status":"ok"}`)) }

func (s *Server) readyz(c *call) error {
	if !s.Running() {
		return &fault.Error{Code: fault.Unavailable, Message: "no jobs are being fired right now"}
	}
	if err := s.Service.Ready(c.r.Context()); err != nil {
		return fault.Unreachable(err)
	}
	return c.writeJSON(http.StatusOK, []byte(`{"status":"ok"}`))
}

func (s *Server) metrics(c *call) error {
	promhttp.HandlerFor(s.Metrics.Registry, promhttp.HandlerOpts{}).ServeHTTP(c, c.r)
	return nil
}

func (s *Server) openAPI(c *call) error { return c.writeJSON(http.StatusOK, api.JSON()) }

// docs responds with a page of the documentation.
func (s *Server) docs(c *call) error {
	if !s.site.Serve(c, c.r) {
		return &fault.Error{Code: fault.NotFound, Reason: "unknown_path",
			Message: "there is no such page; GET " + docsite.Prefix + "/guides lists them all"}
	}
	return nil
}
