package edge

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestBodiesInFlightShareABudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		handler, letGo := holding()
		h := newHall(t, 1000, handler)
		sendFrom := func(address string, n int) (refused int) {
			for range n {
				c := h.dial(address)
				c.send(post(1<<20) + mib(1))
				status := make(chan int, 1)
				go func() { status <- c.answer() }()
				synctest.Wait()
				select {
				case s := <-status:
					if s != 429 {
						t.Errorf("%s is answered with %d", address, s)
					}
					refused++
				default:
				}
			}
			return refused
		}
		// 8 KiB of each are free, so a little more than 16 MiB fit.
		if refused := sendFrom("192.0.2.1", 20); refused != 4 {
			t.Errorf("%d of 20 refused for the network's share", refused)
		}
		for _, address := range []string{"192.0.2.2", "192.0.2.3"} {
			if refused := sendFrom(address, 16); refused != 0 {
				t.Errorf("%d of 16 of another network refused", refused)
			}
		}
		if refused := sendFrom("192.0.2.4", 20); refused != 4 {
			t.Errorf("%d of 20 refused", refused)
		}
		if refused := sendFrom("192.0.2.5", 5); refused != 5 {
			t.Errorf("%d of 5 refused when nothing is left", refused)
		}
		// Small ones come in all the same.
		small := h.dial("192.0.2.5")
		small.send(post(8000) + strings.Repeat("x", 8000))
		synctest.Wait()
		letGo()
		if status := small.answer(); status != 200 {
			t.Errorf("a small one is answered with %d", status)
		}
		synctest.Wait()
		if f := h.Figures(); f.Received != 0 {
			t.Errorf("in the end %d bytes are held", f.Received)
		}
	})
}

// TestDeclaredLengthsHoldNothing declares a lot and sends nothing.
func TestDeclaredLengthsHoldNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHall(t, 4000, swallow)
		for range 800 {
			h.dial(public).send(post(1 << 20))
		}
		synctest.Wait()
		if f := h.Figures(); f.Received != 0 {
			t.Errorf("%d bytes are held", f.Received)
		}
		c := h.dial(public)
		c.send(post(1<<20) + mib(1))
		if status := c.answer(); status != 200 {
			t.Errorf("one that sends is answered with %d", status)
		}
		time.Sleep(20 * time.Second)
	})
}

func TestAnAccountHasAShareToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		handler, letGo := holding()
		h := newHall(t, 1000, func(w http.ResponseWriter, r *http.Request) {
			if err := Authenticated(r, 7, false); err != nil {
				w.WriteHeader(statusOf(err))
				return
			}
			handler(w, r)
		})
		var last *client
		for i := range 20 { // each from another network
			last = h.dial("192.0.2." + string(rune('1'+i%9)))
			last.send(post(1<<20) + mib(1))
			synctest.Wait()
		}
		if status := last.answer(); status != 429 {
			t.Errorf("the last is answered with %d", status)
		}
		if f := h.Figures(); f.Received > 16<<20 || f.Received < 15<<20 {
			t.Errorf("%d bytes are held", f.Received)
		}
		letGo()
	})
}

func TestHeadersInFlightAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHall(t, 4000, nothing)
		header := strings.TrimSuffix(get, "\r\n") + strings.Repeat("A:\r\n", 900)
		var last *client
		for range 200 {
			last = h.dial(public)
			last.send(header)
			synctest.Wait()
		}
		if status := last.answer(); status != 429 {
			t.Errorf("the last is answered with %d", status)
		}
		if f := h.Figures(); f.Received > 16<<20 || f.Received < 15<<20 {
			t.Errorf("%d bytes are held", f.Received)
		}
		c := h.dial(public)
		c.send(get)
		if status := c.answer(); status != 200 {
			t.Errorf("a small one is answered with %d", status)
		}
	})
}

func TestABodyWithoutAServerIsLeftAlone(t *testing.T) {
	t.Parallel()
	r, err := http.NewRequest("POST", "http://x/", strings.NewReader("body"))
	if err != nil {
		t.Fatal(err)
	}
	if err := Authenticated(r, 7, false); err != nil {
		t.Error(err)
	}
}
