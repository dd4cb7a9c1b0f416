package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/punctual-dev/punctual/internal/fault"
)

func TestStartAgain_WhileTheDatabaseDoesNotRespond(t *testing.T) {
	silent := fmt.Errorf("registering this node: %w", fault.Unreachable(errors.New("silent")))
	broken := errors.New("the schema is newer than this program")
	for name, test := range map[string]struct {
		err   error
		fails int // how often start fails before it succeeds
		want  error
		tries int
	}{
		"responds at once":  {silent, 0, nil, 1},
		"responds again":    {silent, 3, nil, 4},
		"never responds":    {silent, 1000, silent, int(startWithin/startPause) + 2},
		"another error":     {broken, 1, broken, 1},
		"joined with later": {errors.Join(silent, broken), 1, nil, 2},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tries := 0
				n, err := startAgain(t.Context(), slog.New(slog.DiscardHandler), func() (*Node, error) {
					tries++
					if tries <= test.fails {
						return nil, test.err
					}
					return &Node{}, nil
				})
				if !errors.Is(err, test.want) || (err == nil) != (n != nil) || tries != test.tries {
					t.Errorf("%d tries end with %v, want %d and %v", tries, err, test.tries, test.want)
				}
			})
		})
	}
}

func TestStartAgain_EndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), startPause/2)
		defer cancel()
		began, tries := time.Now(), 0
		_, err := startAgain(ctx, slog.New(slog.DiscardHandler), func() (*Node, error) {
			tries++
			return nil, fault.Unreachable(errors.New("silent"))
		})
		if err == nil || tries != 1 || time.Since(began) != startPause/2 {
			t.Errorf("%d tries in %s end with %v", tries, time.Since(began), err)
		}
	})
}
