package edge

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
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
		Conn: own, network: netip.MustParsePrefix(network), idle: idle, change: make(chan struct{}, 1), leave: func() {},
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
