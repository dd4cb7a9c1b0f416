package edge

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/punctual-dev/punctual/internal/quota"
)

// pacing is a connection that is paced, and its client's end.
func pacing(t *testing.T, idle *quota.Meter[netip.Prefix], network string) (*paced, net.Conn) {
	t.Helper()
	own, theirs := net.Pipe()
	c := &paced{
		Conn: own, network: netip.MustParsePrefix(network), idle: idle, waiting: &tally{networks: map[netip.Prefix]int{}},
		change: make(chan struct{}, 1), leave: func() {},
	}
	t.Cleanup(func() { _ = theirs.Close(); _ = c.Close() })
	return c, theirs
}

// flood has the client of a connection write zeros for as long as they are read.
func flood(client net.Conn) {
	go func() { _, _ = io.Copy(client, endless{}) }()
}

// readFor reads what is there to read within a time, and returns how much it was.
func readFor(c *paced, d time.Duration) (n int64) {
	_ = c.SetReadDeadline(time.Now().Add(d)) // fails only when it is closed
	n, _ = io.Copy(io.Discard, c)
	return n
}

func TestPaced_BoundsWhatNoCallPaysFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		idle := quota.NewMeter[netip.Prefix](time.Now())
		first, client := pacing(t, idle, "192.0.2.1/32")
		flood(client)
		if n := readFor(first, 10*time.Second); n > 11*int64(idleBytes) || n < 9*int64(idleBytes) {
			t.Errorf("%d bytes were read in 10 seconds", n)
		}
		second, client := pacing(t, idle, "192.0.2.1/32")
		flood(client)
		if n := readFor(second, time.Second); n > int64(idleBytes) {
			t.Errorf("another connection of the network read %d bytes in a second", n)
		}
		other, client := pacing(t, idle, "192.0.2.2/32")
		flood(client)
		if n := readFor(other, time.Millisecond); n < int64(idleBytes) {
			t.Errorf("a connection of another network read %d bytes at once", n)
		}
	})
}

func TestPaced_ConnectionsShareWhatTheirNetworkMaySend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const conns, seconds = 50, 20
		idle, waiting := quota.NewMeter[netip.Prefix](time.Now()), &tally{networks: map[netip.Prefix]int{}}
		var read [conns]int64
		var all sync.WaitGroup
		for i := range read {
			c, client := pacing(t, idle, "192.0.2.1/32")
			c.waiting = waiting
			flood(client)
			all.Go(func() { read[i] = readFor(c, seconds*time.Second) })
		}
		all.Wait()
		sum := int64(0)
		for _, n := range read {
			sum += n
		}
		if sum > (seconds+1)*int64(idleBytes) || sum < (seconds-1)*int64(idleBytes) || slices.Min(read[:]) < pacedPiece {
			t.Errorf("%d bytes were read in %d seconds, by each connection %d", sum, seconds, read)
		}
		if len(waiting.networks) > 0 {
			t.Errorf("%v wait", waiting.networks)
		}
	})
}

func TestPaced_ReturnsWhatIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		idle := quota.NewMeter[netip.Prefix](time.Now())
		r, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
		r.ProtoMajor = 2
		for range int(2 * idleBytes / pacedPiece) { // more than the network may send at once
			c, client := pacing(t, idle, "192.0.2.1/32")
			flood(client)
			if n, err := c.Read(make([]byte, pacedPiece)); n != pacedPiece || err != nil {
				t.Fatalf("%d bytes were read, %v", n, err)
			}
			c.arrived(r)
			c.payFor(r)
			if err := errors.Join(c.Close(), c.Close()); err != nil {
				t.Fatal(err)
			}
		}
		if got := idle.Take(netip.MustParsePrefix("192.0.2.1/32"), idleBytes, 0, int64(idleBytes), time.Now()); !got.Allowed {
			t.Errorf("the network may not send: %+v", got)
		}
	})
}

func TestPaced_CallsPayForTheirConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, client := pacing(t, quota.NewMeter[netip.Prefix](time.Now()), "192.0.2.1/32")
		flood(client)
		readFor(c, time.Second) // what the network may send
		const calls = 50
		r, _ := http.NewRequestWithContext(context.WithValue(t.Context(), pacedKey{}, c), http.MethodPost, "/", nil)
		r.ProtoMajor = 2
		r.Body = &stream{
			ReadCloser: io.NopCloser(io.LimitReader(endless{}, 10<<10)), charge: charge{budget: newBudget(receivedBytes)},
		}
		for range calls {
			c.arrived(r)
			if err := Authenticated(r, 7, false); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			t.Fatal(err)
		}
		if n, want := readFor(c, time.Nanosecond), int64(calls*callBytes+10<<10+10<<10/bodyShare); n != want {
			t.Errorf("%d bytes were read at once, want %d", n, want)
		}
		for range 2 * savedBytes / callBytes {
			c.payFor(r)
		}
		for range 10 {
			c.arrived(r) // and is refused
		}
		if n := readFor(c, time.Nanosecond); n != savedBytes-10*refusedBytes {
			t.Errorf("%d bytes had been saved", n)
		}
	})
}

func TestPaced_AWaitEnds(t *testing.T) {
	for name, c := range map[string]struct {
		end  func(*paced) error
		want error
	}{
		"when a call pays":          {func(c *paced) error { c.pay(savedBytes); return nil }, nil},
		"at a deadline in the past": {func(c *paced) error { return c.SetReadDeadline(time.Unix(1, 0)) }, os.ErrDeadlineExceeded},
		"when it is closed":         {(*paced).Close, net.ErrClosed},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				conn, client := pacing(t, quota.NewMeter[netip.Prefix](time.Now()), "192.0.2.1/32")
				flood(client)
				ended := make(chan error, 1)
				go func() {
					var err error
					for range int(idleBytes/pacedPiece) + 1 { // one more than the network may send at once
						if _, err = conn.Read(make([]byte, pacedPiece)); err != nil {
							break
						}
					}
					ended <- err
				}()
				synctest.Wait()
				select {
				case err := <-ended:
					t.Fatalf("it did not wait: %v", err)
				default:
				}
				start := time.Now()
				if err := c.end(conn); err != nil {
					t.Fatal(err)
				}
				if err := <-ended; !errors.Is(err, c.want) || time.Since(start) > 0 {
					t.Errorf("%v after %s, want %v", err, time.Since(start), c.want)
				}
			})
		})
	}
}
