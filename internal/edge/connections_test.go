package edge

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestAConnectionInReserveIsKeptAsLongAsAnIdleOne has a client open a connection,
// as Go's does when another one may not come free in time, and use it later.
func TestAConnectionInReserveIsKeptAsLongAsAnIdleOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHall(t, 100, swallow)
		c := h.dial(public)
		for range 2 { // in reserve, then idle
			time.Sleep(100 * time.Second)
			c.send(post(4))
			time.Sleep(time.Second)
			c.send("body")
			if status := c.answer(); status != 200 {
				t.Fatalf("after 100 seconds: %d", status)
			}
		}
		c.wantClosed(2 * time.Minute)
		h.dial(public).wantClosed(2 * time.Minute)
	})
}

func TestAHeaderMayTakeTenSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHall(t, 100, nothing)
		drip := func(c *client) {
			go c.slowly(strings.Repeat("x", 100), 100)
			time.Sleep(time.Nanosecond)
		}
		fresh := h.dial(public)
		time.Sleep(time.Minute)
		drip(fresh)
		fresh.wantClosed(10*time.Second - time.Nanosecond)
		<-fresh.sent

		used := h.dial(public)
		used.send(get)
		if status := used.answer(); status != 200 {
			t.Fatalf("it is answered with %d", status)
		}
		used.send("GET / ")
		used.wantClosed(10 * time.Second)
	})
}

func TestABodyMustArriveFastEnough(t *testing.T) {
	const grace, rate = 10, 8 << 10
	for name, c := range map[string]struct {
		declared, sent, seconds int
		status                  int
		after                   time.Duration
	}{
		"nothing":             {1 << 20, 0, 1, 408, grace * time.Second},
		"all but a byte":      {16 << 10, 16<<10 - 1, 1, 408, (grace + 1) * time.Second}, // the deadline moves by whole seconds
		"little, in the time": {100, 100, 9, 200, 8 * time.Second},
		"fast enough":         {rate * 30, rate * 30, 30, 200, 29 * time.Second},
		"too slow":            {rate * 30, rate * 30, 90, 408, 14 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHall(t, 100, swallow)
				client := h.dial(public)
				client.send(post(c.declared))
				synctest.Wait()
				start := time.Now()
				if c.sent > 0 {
					go client.slowly(strings.Repeat("x", c.sent), c.seconds)
				}
				status, took := client.answer(), time.Since(start)
				if status != c.status || took < c.after-time.Second || took > c.after+time.Second {
					t.Errorf("%d after %s, want %d after %s", status, took, c.status, c.after)
				}
				if status == 408 {
					if again := client.answer(); again != 0 {
						t.Errorf("then it is answered with %d", again)
					}
				}
				if c.sent > 0 {
					<-client.sent
				}
			})
		})
	}
}

func TestABodyThatNobodyReadsEndsSoon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHall(t, 100, nothing)
		c := h.dial(public)
		c.send(post(1000) + "some")
		start := time.Now()
		if status := c.answer(); status != 200 || time.Since(start) != 2*time.Second {
			t.Errorf("%d after %s", status, time.Since(start))
		}
		c.wantClosed(0)
		// One that arrives in time does no harm.
		c = h.dial(public)
		c.send(post(4) + "body" + get)
		for range 2 {
			if status := c.answer(); status != 200 {
				t.Errorf("answered with %d", status)
			}
		}
	})
}

func TestALongCallIsNotEndedByDeadlines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHall(t, 100, func(w http.ResponseWriter, r *http.Request) {
			swallow(w, r)
			select {
			case <-r.Context().Done():
				t.Error("the call was ended")
			case <-time.After(50 * time.Second):
			}
		})
		c := h.dial(public)
		c.send(post(4) + "body")
		if status := c.answer(); status != 200 {
			t.Errorf("answered with %d", status)
		}
	})
}

func TestAHeaderHasAtMostAThousandLines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHall(t, 100, nothing)
		for lines, want := range map[int]int{500: 200, 1500: 431} {
			header := strings.TrimSuffix(get, "\r\n")
			for i := range lines {
				header += fmt.Sprintf("X-%d: y\r\n", i)
			}
			c := h.dial(public)
			c.send(header + "\r\n")
			if status := c.answer(); status != want {
				t.Errorf("%d lines: %d, want %d", lines, status, want)
			}
			_ = c.Close()
		}
		// What begins with an empty line is counted too, also after a POST.
		c := h.dial(public)
		c.send(post(0))
		if status := c.answer(); status != 200 {
			t.Fatalf("answered with %d", status)
		}
		c.send("\r\n" + strings.TrimSuffix(get, "\r\n") + strings.Repeat("A:\r\n", 1500))
		if status := c.answer(); status != 431 {
			t.Errorf("after an empty line: %d", status)
		}
		// A body is none of it.
		c = h.dial(public)
		c.send(post(3000) + strings.Repeat("\n", 3000))
		if status := c.answer(); status != 200 {
			t.Errorf("a body of lines: %d", status)
		}
	})
}

func TestServer_DropsAClientThatDoesNotRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := make(chan time.Duration, 1)
		h := newHall(t, 100, func(w http.ResponseWriter, _ *http.Request) {
			start := time.Now()
			_, _ = w.Write([]byte(mib(1)))
			ended <- time.Since(start)
		})
		// Not even the first bytes are read.
		h.dial(public).send(get)
		if took := <-ended; took != 10*time.Second {
			t.Errorf("it was let go after %s", took)
		}
		c := h.dial(public)
		c.send(get)
		c.readSome()
		time.Sleep(2 * time.Second)
		if f := h.Figures(); f.Unread < 1<<20-8<<10 {
			t.Errorf("after two seconds %d bytes are unread", f.Unread)
		}
		if took := <-ended; took != 10*time.Second {
			t.Errorf("it was let go after %s", took)
		}
		synctest.Wait()
		if f := h.Figures(); f.Unread != 0 || f.Connections != 0 {
			t.Errorf("then %+v", f)
		}
		// One that is slow, but reads, gets it all.
		c = h.dial(public)
		c.send(get)
		reader := make(chan struct{})
		go func() {
			defer close(reader)
			buffer := make([]byte, 64<<10)
			for {
				if _, err := c.Read(buffer); err != nil {
					return
				}
				time.Sleep(2 * time.Second)
			}
		}()
		if took := <-ended; took < 30*time.Second || took > 40*time.Second {
			t.Errorf("the slow one took %s", took)
		}
		_ = c.Close()
		<-reader
	})
}

func TestResponsesThatNobodyReadsShareABudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHall(t, 1000, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(mib(1))) })
		for i := range 21 {
			from := public
			if i == 20 {
				from = "192.0.2.2"
			}
			c := h.dial(from)
			c.send(get)
			c.readSome()
		}
		time.Sleep(3 * time.Second)
		// Four of the network are let go; the others keep what they have.
		if f := h.Figures(); f.Unread > 17<<20 || f.Connections != 17 {
			t.Errorf("unread are %d MiB of %d connections", f.Unread>>20, f.Connections)
		}
		time.Sleep(20 * time.Second)
	})
}
