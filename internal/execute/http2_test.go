//go:build unix

package execute

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/http2"
)

// A connection that is opened ahead and does not come fails no request, whether it
// waits for one of the slots, which another account may have taken, or for its target.
func TestHTTP2_RequestsOutlastConnectionsOpenedAhead(t *testing.T) {
	refused := errors.New("refused")
	for name, c := range map[string]struct {
		taken int           // slots
		want  time.Duration // until the request's own connection is refused
	}{
		"without a slot":        {openingAtOnce, time.Second},
		"with a silent address": {0, openLimit + time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := newOpenings()
				defer o.close()
				for range c.taken {
					o.slots <- struct{}{}
				}
				ahead := c.taken == 0
				p := newHTTP2Pool(o, func(ctx context.Context, _ route) (*targetConn, error) {
					if ahead {
						ahead = false
						<-ctx.Done()
						return nil, ctx.Err()
					}
					time.Sleep(time.Second)
					return nil, refused
				}, nil)
				p.prewarm(route{}, false)
				synctest.Wait()
				began := time.Now()
				if _, _, err := p.connection(t.Context(), route{}, anyConn); err != refused || time.Since(began) != c.want {
					t.Errorf("the request failed with %v after %s, want %v after %s", err, time.Since(began), refused, c.want)
				}
			})
		})
	}
}

// Streams are reserved while the store is asked whether their requests may leave. If the
// target lowers its limit meanwhile, the requests follow one another.
func TestHTTP2_ReservedStreamsOutliveALowerLimit(t *testing.T) {
	acknowledged, both := make(chan struct{}), make(chan *framer, 1)
	var writes sync.Mutex
	url := framing(t, func(f *framer) { both <- f }, func(f *framer, frame http2.Frame) {
		writes.Lock()
		defer writes.Unlock()
		switch frame := frame.(type) {
		case *http2.SettingsFrame:
			if !frame.IsAck() {
				_ = f.WriteSettingsAck()
			} else if f.limited.Load() {
				close(acknowledged)
				f.limited.Store(false)
			}
		case *http2.PingFrame:
			_ = f.WritePing(true, frame.Data)
		case *http2.HeadersFrame:
			_ = writeStatus(f.Framer, frame.StreamID, "204", true)
		}
	})
	c := newClientOf(t, true)
	answered(t, c, get(url)) // so that there is one connection
	f := receive(t, both)
	const n = 3
	var waiting, done sync.WaitGroup
	waiting.Add(n)
	leave := make(chan struct{})
	for range n {
		r := get(url)
		r.Leave = sync.OnceValue(func() bool {
			waiting.Done()
			<-leave
			return true
		})
		done.Go(func() { answered(t, c, r) })
	}
	waiting.Wait()
	f.limited.Store(true)
	writes.Lock()
	err := f.WriteSettings(http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: 1})
	writes.Unlock()
	if err != nil {
		t.Fatal(err)
	}
	receive(t, acknowledged)
	close(leave)
	done.Wait()
	if open := c.Connections(); open == 0 {
		t.Error("no connection is left")
	}
}
