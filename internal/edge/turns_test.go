package edge

import (
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

func TestNetworksTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gate{turns: &turns{free: 1}}
		busy, other := &crowd{}, &crowd{}
		first := &conn{gate: g, crowd: busy}
		first.takeTurn()
		var order []string
		took := make(chan *conn)
		wait := func(name string, of *crowd) {
			c := &conn{gate: g, crowd: of}
			go func() {
				c.takeTurn()
				order = append(order, name)
				took <- c
			}()
			synctest.Wait()
		}
		wait("busy 1", busy)
		wait("busy 2", busy)
		wait("busy 3", busy)
		wait("other 1", other)
		known := &conn{gate: g, crowd: busy}
		known.known.Store(true)
		known.takeTurn() // does not wait
		first.endTurn()
		first.endTurn() // it has none any more
		for range 4 {
			(<-took).endTurn()
		}
		if want := []string{"busy 1", "other 1", "busy 2", "busy 3"}; !slices.Equal(order, want) {
			t.Errorf("the order was %q, want %q", order, want)
		}
		if g.turns.free != 1 || len(g.turns.ring) != 0 {
			t.Errorf("left are %d turns and %d networks in line", g.turns.free, len(g.turns.ring))
		}
	})
}

func TestNobodyWaitsForAClientThatHasItsTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHall(t, 1000, nothing)
		for range 50 {
			h.dial(public).send("GET / HT")
			h.dial(public).send("no request\r\n\r\n") // and the response to it is not read
			h.dial(public).send(get)
		}
		time.Sleep(10 * time.Millisecond)
		start := time.Now()
		c := h.dial(public)
		c.send(get + get)
		for range 2 {
			if status := c.answer(); status != 200 {
				t.Errorf("the response is %d", status)
			}
		}
		if took := time.Since(start); took != 0 {
			t.Errorf("it took %s", took)
		}
		time.Sleep(time.Minute)
		turns := h.gate.turns
		turns.mu.Lock()
		defer turns.mu.Unlock()
		if free, want := turns.free, newTurns().free; free != want {
			t.Errorf("%d turns are free, want %d", free, want)
		}
	})
}

func TestClientsThatDontReadMakeRoom(t *testing.T) {
	for name, size := range map[string]int{"small responses": 100, "large responses": 1 << 20} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHall(t, 8, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, size)) })
				for range 2 {
					h.dial(public).send(get)
				}
				time.Sleep(500 * time.Millisecond)
				c := h.dial(public)
				if status := c.answer(); status != 503 {
					t.Errorf("while all are busy: %d", status)
				}
				time.Sleep(time.Second)
				c = h.dial(public)
				c.send(get)
				if status := c.answer(); status != 200 {
					t.Errorf("after a second: %d", status)
				}
				if f := h.Figures(); f.Dropped != 1 || f.Refused != 1 {
					t.Errorf("%+v", f)
				}
			})
		})
	}
}
