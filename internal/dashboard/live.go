package dashboard

var liveRoutes = []route{
	{"/events", forMembers, map[string]handler{"GET": (*Server).events}},
}

// events is the stream that tells an open page to fetch its live parts anew. It
// says that there is news, not what: the page reads that for itself.
func (s *Server) events(c *call) error {
	stream, err := s.Events.OpenHints(c.r.Context(), c.owner(), c.r.RemoteAddr)
	if err != nil {
		return err
	}
	stream.Serve(c, c.r, c.permit)
	return nil
}
