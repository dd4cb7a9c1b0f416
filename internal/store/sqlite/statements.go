package sqlite

import (
	"strings"
	"sync"

	"zombiezen.com/go/sqlite"

	"github.com/punctual-dev/punctual/internal/rawjson"
)

// statements keeps the prepared statements of each connection. Conn.Prepare keeps
// them too, but clears their parameters before each use, upon which SQLite plans
// most statements again. That cost more than running them.
type statements struct {
	mu    sync.Mutex
	conns map[*sqlite.Conn]connStatements
}

// connStatements has the statements of one connection by their texts. Only the
// transaction that holds the connection uses it; the connection finalizes them.
type connStatements map[string]*sqlite.Stmt

// of returns the statements of a connection.
func (s *statements) of(conn *sqlite.Conn) connStatements {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conns == nil {
		s.conns = map[*sqlite.Conn]connStatements{}
	}
	kept := s.conns[conn]
	if kept == nil {
		kept = connStatements{}
		s.conns[conn] = kept
	}
	return kept
}

// get returns a statement whose parameters have any values.
func (p connStatements) get(conn *sqlite.Conn, query string) (*sqlite.Stmt, error) {
	if stmt := p[query]; stmt != nil {
		return stmt, stmt.Reset()
	}
	stmt, err := conn.Prepare(unplanned(query))
	if err != nil {
		return nil, err
	}
	p[query] = stmt
	return stmt, nil
}

// unplanned returns a query that SQLite plans once. It would plan it again for
// other values of some parameters, such as a LIMIT or an account's number 1, but it
// looks at none behind a plus sign, which does nothing.
func unplanned(query string) string { return strings.ReplaceAll(query, "?", "+?") }

// maxKeptArg is how many bytes of a parameter a statement keeps until its next use.
const maxKeptArg = 16 << 10

// release frees the memory of large parameters.
func release(stmt *sqlite.Stmt, args []any) {
	for i, arg := range args {
		size := 0
		switch v := arg.(type) {
		case string:
			size = len(v)
		case *string:
			if v != nil {
				size = len(*v)
			}
		case rawjson.Value:
			size = len(v)
		case []byte:
			size = len(v)
		}
		if size > maxKeptArg && stmt.Reset() == nil {
			stmt.BindNull(i + 1)
		}
	}
}
