package bench

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// tryLimit is how long the first job of a running service is waited for.
const tryLimit = 10 * time.Second

// tryService sees with one job whether a running service can be measured: it
// must be ready, take the key, and trust and reach the target.
func (b *bench) tryService(ctx context.Context) error {
	a := newAPI(b.BaseURL, b.APIKey, 1)
	defer a.close()
	if !a.ready(ctx) {
		return fmt.Errorf("the service at %s is not ready; start it with --allow-private-targets --target-ca-file %s", b.BaseURL,
			b.AuthorityFile)
	}
	if v, err := a.vitals(ctx); err != nil {
		return err
	} else if v.cpu == 0 {
		return errors.New("the service tells nothing of its process at /metrics, which the bench needs")
	}
	jobs, expected := b.plan(1, b.target.urls, func(int) time.Time { return time.Now() })
	b.target.expect(expected)
	defer b.target.forget()
	if err := a.create(ctx, jobs[0].appendCreate(nil)); err != nil {
		return err
	}
	arrived, err := until(ctx, time.Now().Add(tryLimit), func() bool { return expected.distinct.Load() > 0 })
	if err == nil && !arrived {
		err = fmt.Errorf("a first job did not reach the bench's target within %s; start the service with --allow-private-targets --target-ca-file %s, and see GET %s/api/logs for what it says", tryLimit, b.AuthorityFile, b.BaseURL)
	}
	return err
}
