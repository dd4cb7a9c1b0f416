package hostile

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/coder/websocket"
)

// listenAs connects a listener; nil if the service refuses it.
func (s *strike) listenAs(ctx context.Context, key, name string) *websocket.Conn {
	conn, _, err := websocket.Dial(ctx, s.service.URL()+"/api/listen?name="+name, &websocket.DialOptions{
		HTTPClient: s.client, Subprotocols: []string{"punctual.listen.v1"}, HTTPHeader: http.Header{"Authorization": {"Bearer " + key}},
	})
	if err != nil {
		return nil
	}
	conn.SetReadLimit(16 << 20)
	return conn
}

// frame returns a message of a listener.
func frame(header string, body []byte) []byte {
	b := binary.BigEndian.AppendUint32(nil, uint32(len(header)))
	return append(append(b, header...), body...)
}

// answers has a listener answer each request with a header and a body until the
// context ends. ID stands for the request's.
func (s *strike) answers(ctx context.Context, conn *websocket.Conn, header string, body []byte) {
	for {
		_, b, err := conn.Read(ctx)
		if err != nil || len(b) < 4 {
			return
		}
		var m struct {
			Type string
			ID   uint64
		}
		if json.Unmarshal(b[4:4+binary.BigEndian.Uint32(b)], &m) != nil || m.Type != "request" {
			continue
		}
		if conn.Write(ctx, websocket.MessageBinary, frame(strings.ReplaceAll(header, "ID", fmt.Sprint(m.ID)), body)) != nil {
			return
		}
	}
}

// listens returns an attack of 10 listeners of each of 4 accounts, to which the
// accounts' jobs go.
func listens(name string, use func(ctx context.Context, s *strike, conn *websocket.Conn)) attack {
	return attack{name, func(ctx context.Context, s *strike) {
		s.flood(ctx, 56, func(n int) {
			key := s.keys[n%4]
			if n%56 < 16 {
				body := fmt.Sprintf(`{"url":"https://listen.invalid/x/%d","method":"post","retries":0,"timeout":2,"body":"%s"}`, n,
					strings.Repeat("x", n%16<<10))
				s.call(http.MethodPost, "/api/jobs", key, []byte(body))
				pause(ctx, 5*time.Millisecond)
				return
			}
			conn := s.listenAs(ctx, key, "x")
			if conn == nil {
				pause(ctx, 5*time.Millisecond)
				return
			}
			defer func() { _ = conn.CloseNow() }()
			use(ctx, s, conn)
		})
	}}
}

var listenerAttacks = []attack{
	listens("listeners that send garbage", func(ctx context.Context, _ *strike, conn *websocket.Conn) {
		garbage := bytes.Repeat([]byte{0, 0, 1, '{'}, 200<<10)
		for conn.Write(ctx, websocket.MessageBinary, garbage) == nil {
		}
	}),
	listens("listeners that send frames without an end", func(ctx context.Context, _ *strike, conn *websocket.Conn) {
		w, err := conn.Writer(ctx, websocket.MessageBinary)
		for piece := make([]byte, 64<<10); err == nil; {
			_, err = w.Write(piece)
		}
	}),
	listens("listeners that read nothing", func(ctx context.Context, _ *strike, _ *websocket.Conn) { <-ctx.Done() }),
	listens("listeners that never answer", func(ctx context.Context, _ *strike, conn *websocket.Conn) {
		for {
			if _, _, err := conn.Read(ctx); err != nil {
				return
			}
		}
	}),
	listens("listeners that answer at length", func(ctx context.Context, s *strike, conn *websocket.Conn) {
		s.answers(ctx, conn, `{"type":"response","id":ID,"status":200,"header":[`+strings.Repeat(`["a","`+strings.Repeat("b", 200)+`"],`,
			900)+`["content-type","application/json"]]}`,
			[]byte(`"`+strings.Repeat(`\u0000`, 40<<10)+`"`))
	}),
	listens("listeners that ping", func(ctx context.Context, _ *strike, conn *websocket.Conn) {
		go func() {
			for {
				if _, _, err := conn.Read(ctx); err != nil {
					return
				}
			}
		}()
		for conn.Ping(ctx) == nil {
		}
	}),
	listens("listeners that leave at once", func(context.Context, *strike, *websocket.Conn) {}),
	{"jobs without a listener", func(ctx context.Context, s *strike) {
		s.flood(ctx, 16, func(n int) {
			s.call(http.MethodPost, "/api/jobs", s.keys[n%4], []byte(`{"url":"https://listen.invalid/nobody","retries":20,"backoff":[1]}`))
		})
	}},
}
