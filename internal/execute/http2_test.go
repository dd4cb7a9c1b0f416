package execute

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
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
