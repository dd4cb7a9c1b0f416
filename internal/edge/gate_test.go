package edge

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"
)

func TestConnectionsAreBoundedForEachNetworkAndInAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		handler, letGo := holding()
		h := newHall(t, 8, handler) // 2 of a network, 6 of this machine
		busyFrom := func(address string) *client {
			c := h.dial(address)
			c.send(get)
			synctest.Wait()
			return c
		}
		for range 2 {
			busyFrom(public)
		}
		if status := h.dial(public).answer(); status != 503 {
			t.Errorf("the third of a network is answered with %d", status)
		}
		var local []*client
		for range 6 {
			local = append(local, busyFrom("127.0.0.1"))
		}
		if status := h.dial("127.0.0.1").answer(); status != 503 {
			t.Errorf("the seventh of this machine is answered with %d", status)
		}
		if status := h.dial("192.0.2.2").answer(); status != 503 {
			t.Errorf("the ninth is answered with %d", status)
		}
		if f := h.Figures(); f.Connections != 8 || f.Refused != 3 || f.Dropped != 0 {
			t.Errorf("the figures are %+v", f)
		}
		letGo()
		for _, c := range local {
			if status := c.answer(); status != 200 {
				t.Errorf("one that was admitted is answered with %d", status)
			}
		}
	})
}

func TestGate_ClosesSilentConnectionsForNewOnes(t *testing.T) {
	for name, begin := range map[string]string{"silent": "", "slow header": "GET / ", "slow body": post(1000) + "x"} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHall(t, 8, swallow)
				flood := func(address string, n int) (all []*client) {
					for range n {
						c := h.dial(address)
						if begin != "" {
							c.send(begin)
						}
						synctest.Wait()
						all = append(all, c)
					}
					return all
				}
				// One address floods, and has more to ask itself.
				first := flood(public, 20)
				c := h.dial(public)
				c.send(get)
				if status := c.answer(); status != 200 {
					t.Errorf("from the same address: %d", status)
				}
				if f := h.Figures(); f.Connections != 2 {
					t.Errorf("it has %d connections", f.Connections)
				}
				first[0].wantClosed(0) // the oldest is the first to go
				// So do many.
				for _, address := range []string{"192.0.2.2", "192.0.2.3", "192.0.2.4", "192.0.2.5"} {
					flood(address, 2)
				}
				c = h.dial("198.51.100.1")
				c.send(get)
				if status := c.answer(); status != 200 {
					t.Errorf("from elsewhere: %d", status)
				}
				if f := h.Figures(); f.Connections != 8 || f.Refused != 0 || f.Dropped == 0 {
					t.Errorf("the figures are %+v", f)
				}
			})
		})
	}
}

func TestGate_CountsAnIPv6PrefixAsOneNetwork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		handler, letGo := holding()
		h := newHall(t, 8, handler)
		for _, address := range []string{"2001:db8::1", "2001:db8::2"} {
			h.dial(address).send(get)
			synctest.Wait()
		}
		if status := h.dial("2001:db8::3").answer(); status != 503 {
			t.Errorf("a third address of the /64 is answered with %d", status)
		}
		h.dial("2001:db8:0:1::1").send(get)
		synctest.Wait()
		if f := h.Figures(); f.Connections != 3 {
			t.Errorf("the figures are %+v", f)
		}
		letGo()
	})
}

func TestACallUnderWayIsNotDroppedForOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHall(t, 4, func(w http.ResponseWriter, r *http.Request) {
			swallow(w, r)
			time.Sleep(5 * time.Second)
		})
		c := h.dial(public) // one of one
		c.send(post(4))
		time.Sleep(time.Second)
		c.send("body")
		synctest.Wait()
		if status := h.dial(public).answer(); status != 503 {
			t.Errorf("the second is answered with %d", status)
		}
		if status := c.answer(); status != 200 {
			t.Errorf("the first is answered with %d", status)
		}
		synctest.Wait()
		// Idle now, it makes room.
		next := h.dial(public)
		next.send(get)
		if status := next.answer(); status != 200 {
			t.Errorf("the next is answered with %d", status)
		}
		c.wantClosed(0)
	})
}

func TestGate_DropsKnownClientsLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHall(t, 16, func(_ http.ResponseWriter, r *http.Request) { // 4 of a network
			_ = Authenticated(r, 1, r.URL.Path != "/known")
		})
		call := func(c *client, path string) {
			t.Helper()
			c.send("GET " + path + " HTTP/1.1\r\nHost: x\r\n\r\n")
			if status := c.answer(); status != 200 {
				t.Errorf("%s is answered with %d", path, status)
			}
			synctest.Wait()
		}
		known, stranger := h.dial(public), h.dial(public)
		call(known, "/known")
		call(stranger, "/stranger")
		for range 20 {
			h.dial(public)
			synctest.Wait()
		}
		stranger.wantClosed(0)
		call(known, "/known")
		call(known, "/")
	})
}
