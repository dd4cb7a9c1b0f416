//go:build unix

package execute

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// moods are what the target of the test below does with a request. ID stands for what
// the request asked for.
var moods = []string{
	"HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\nID",
	"HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\nID",
	"HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\nID",
	"HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n8\r\nID\r\n0\r\n\r\n",
	"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 8\r\n\r\nID",
	"HTTP/1.1 200 OK\r\n\r\nID" + end,
	"HTTP/1.0 200 OK\r\nContent-Length: 8\r\n\r\nID",
	"HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\nIDmore",
	"HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\nID" + gap + "more",
	"HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\nID" + gap + end,
	"HTTP/1.1 302 Found\r\nLocation: /next\r\nContent-Length: 8\r\n\r\nID",
	"HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\n" + gap + "half" + end,
	end,
	gap + end,
	gap + gap + gap + "HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\nID",
	"HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\n" + gap + gap + "ID",
	"garbage\r\n\r\n",
}

const (
	gap = "\x00" // of up to 5 ms
	end = "\x01" // of the connection
)

// moody starts a target that does what moods say, and delays some handshakes.
func moody(t *testing.T) (port string) {
	cfg := &tls.Config{Certificates: []tls.Certificate{certificate(t, nil)}, NextProtos: []string{"http/1.1"}}
	addr := listen(t, func(raw net.Conn) {
		switch rand.IntN(20) {
		case 0:
			return
		case 1:
			time.Sleep(30 * time.Millisecond)
		}
		conn := tls.Server(raw, cfg)
		defer conn.Close()
		in := bufio.NewReader(conn)
		for {
			req, err := http.ReadRequest(in)
			if err != nil {
				return
			}
			if rand.IntN(2) == 0 {
				_, _ = io.Copy(io.Discard, req.Body)
			}
			mood := strings.ReplaceAll(moods[rand.IntN(len(moods))], "ID", req.Header.Get("X-ID"))
			for piece := range strings.SplitAfterSeq(mood, gap) {
				text, paused := strings.CutSuffix(piece, gap)
				text, ends := strings.CutSuffix(text, end)
				if _, err := io.WriteString(conn, text); err != nil || ends {
					return
				}
				if paused {
					time.Sleep(time.Duration(rand.IntN(5)) * time.Millisecond)
				}
			}
			if _, err := io.Copy(io.Discard, req.Body); err != nil {
				return
			}
		}
	})
	_, port, _ = net.SplitHostPort(addr)
	return port
}

// consistent returns what is wrong with the pool's books, or "".
func consistent(s *connSet) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	conns, idle, ahead := map[route]int{}, map[route]int{}, 0
	for c := range s.conns {
		if c.kept != nil {
			conns[c.route]++
			if c.kept.ahead {
				ahead++
			}
			if c.place != nil {
				idle[c.route]++
			}
		}
	}
	held := map[int64]int{} // idle connections by account
	for c := range s.conns {
		if c.place != nil {
			held[c.route.party.Account]++
		}
	}
	for account, h := range s.holders {
		switch at := 0; {
		case h.idle.Len() != held[account], h.idle.Len() > s.mostAccount, (h.rank >= 0) != (h.idle.Len() > 0):
			return fmt.Sprintf("account %d has %d idle, want %d, and rank %d", account, h.idle.Len(), held[account], h.rank)
		case h.rank >= 0 && s.ranking[h.rank] != h, h.idle.Len() > s.ranking.most():
			return fmt.Sprintf("account %d with %d idle is out of place in the ranking", account, h.idle.Len())
		default:
			for _, n := range h.at {
				at += n
			}
			if at != h.idle.Len() {
				return fmt.Sprintf("account %d has %d idle by address, want %d", account, at, h.idle.Len())
			}
		}
	}
	sum, opening := 0, 0
	for to, h := range s.kept.hosts {
		sum += h.open
		opening += h.opening
		free := 0
		for _, c := range h.idle {
			if !c.kept.busy {
				free++
			}
		}
		switch {
		case h.open != conns[to]+h.opening:
			return fmt.Sprintf("%v: %d are open, want %d, %d of them being opened", to, h.open, conns[to]+h.opening, h.opening)
		case len(h.idle) != idle[to]:
			return fmt.Sprintf("%v: %d are idle, want %d", to, len(h.idle), idle[to])
		case free > 0 && h.waiting.Len() > 0:
			return fmt.Sprintf("%v: %d requests wait, although %d are idle", to, h.waiting.Len(), free)
		case h.open == 0 && h.waiting.Len() == 0:
			return fmt.Sprintf("%v: the entry is left", to)
		}
		delete(conns, to)
	}
	if len(conns) > 0 || sum != s.kept.open || s.idle > s.mostAll {
		return fmt.Sprintf("%d are open in all, want %d; %d are idle; hosts without an entry: %v", s.kept.open, sum, s.idle, conns)
	}
	if s.kept.ahead < ahead || s.kept.ahead > ahead+opening {
		return fmt.Sprintf("%d were opened ahead, want %d to %d", s.kept.ahead, ahead, ahead+opening)
	}
	return ""
}

func (r ranking) most() int {
	if len(r) == 0 {
		return 0
	}
	return r[0].idle.Len()
}

// Whatever targets do, however attempts end and whatever happens meanwhile, responses
// belong to their requests, the books are right, and nothing is left.
func TestPool_BooksStayRight(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	port := moody(t)
	c := New(Config{Targets: anywhere(), RootCAs: authority().pool, MaxConnsIdle: 4, MaxConnsIdleAll: 6})
	hosts := []string{"127.0.0.1", "localhost"}
	rule, err := ParseRule("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	var requests, others sync.WaitGroup
	over := make(chan struct{})
	for worker := range 16 {
		rnd := rand.New(rand.NewPCG(seed, uint64(worker)))
		requests.Go(func() {
			for n := range 100 {
				id := fmt.Sprintf("%02d%06d", worker, n)
				r := Request{
					Method: "GET", URL: "https://" + hosts[rnd.IntN(2)] + ":" + port + "/", FollowRedirects: rnd.IntN(2) == 0,
					Header: []Field{{"X-ID", id}}, Timeout: time.Duration(1+rnd.IntN(60)) * time.Millisecond,
				}
				if size := rnd.IntN(4); size > 0 {
					r.Method, r.Body = "POST", make([]byte, 10<<(6*size))
				}
				r.Party, r.Recent = parties[rnd.IntN(len(parties))], rnd.IntN(4) == 0
				if rnd.IntN(2) == 0 {
					r = signed(r)
				}
				if rnd.IntN(10) == 0 {
					r.Leave = func() bool { return false }
				}
				ctx, cancel := context.WithCancelCause(t.Context())
				if rnd.IntN(4) == 0 {
					wait := time.Duration(rnd.IntN(10)) * time.Millisecond
					time.AfterFunc(wait, func() { cancel(ErrCancelled) })
				}
				out := c.Do(ctx, r)
				cancel(nil)
				if out.Response != nil && string(out.Response.Body) != id {
					t.Errorf("got %q, want %q", out.Response.Body, id)
				}
			}
		})
	}
	rnd := rand.New(rand.NewPCG(seed, 99))
	others.Go(func() {
		for {
			select {
			case <-over:
				return
			case <-time.After(time.Millisecond):
			}
			switch host := (route{party: parties[rnd.IntN(len(parties))], to: hosts[rnd.IntN(2)] + ":" + port}); rnd.IntN(40) {
			case 0:
				c.Block([]Rule{rule})
				c.Block(nil)
			case 1:
				c.relieve(int64(rnd.IntN(3)), syscall.EMFILE)
			case 2, 3, 4, 5, 6:
				c.prewarm(ahead{host, rnd.IntN(6), rnd.IntN(2) == 0})
			case 7, 8, 9, 10, 11:
				c.conns.checkHost(host)
			default:
				c.conns.sweep()
			}
			if wrong := consistent(c.conns); wrong != "" {
				t.Error(wrong)
				return
			}
		}
	})
	requests.Wait()
	close(over)
	others.Wait()
	c.Close()
	if wrong := consistent(c.conns); wrong != "" {
		t.Error(wrong)
	}
	c.conns.mu.Lock()
	defer c.conns.mu.Unlock()
	if s := c.conns; len(s.conns)+s.idle+len(s.holders)+len(s.ranking)+len(s.kept.hosts)+len(s.kept.dials)+s.kept.open+s.kept.ahead != 0 {
		t.Errorf("left are %d connections, %d idle, %d accounts, %d ranked, %d hosts, %d dials, %d open, %d opened ahead",
			len(s.conns), s.idle, len(s.holders), len(s.ranking), len(s.kept.hosts), len(s.kept.dials), s.kept.open, s.kept.ahead)
	}
}
