package copydb

import (
	"context"
	"fmt"
	"time"

	"github.com/punctual-dev/punctual/internal/workflow"
)

// Bounds of what is read of workflow runs at once.
const (
	runPage  = 100
	stepPage = 500
	stepsMax = 4 << 20 // bytes
)

// copyRuns copies the workflow runs with their steps.
func copyRuns(ctx context.Context, from, to Store) error {
	accounts, err := from.AccountList(ctx)
	for i := 0; err == nil && i < len(accounts); i++ {
		err = copyRunsOf(ctx, from, to, accounts[i].Number)
	}
	if err != nil {
		return fmt.Errorf("copying the workflow runs: %w", err)
	}
	return nil
}

func copyRunsOf(ctx context.Context, from, to Store, account int64) error {
	var before time.Time
	for id := ""; ; {
		page, err := from.RunPage(ctx, account, before, id, runPage)
		if err != nil || len(page) == 0 {
			return err
		}
		for _, listed := range page {
			before, id = listed.CreatedAt, listed.ID
			run, err := from.RunGet(ctx, account, id)
			if err == nil {
				err = copyRun(ctx, from, to, run)
			}
			if err != nil {
				return err
			}
		}
	}
}

// copyRun copies the steps of a run before the run: one that is there is complete.
func copyRun(ctx context.Context, from, to Store, run *workflow.Run) error {
	for position := 0; ; {
		steps, err := from.RunSteps(ctx, run.Account, run.ID, position, stepPage, stepsMax)
		if err != nil {
			return err
		}
		if len(steps) == 0 {
			return to.RunCopy(ctx, run, nil)
		}
		if err := to.RunCopy(ctx, nil, steps); err != nil {
			return err
		}
		position = steps[len(steps)-1].Position + 1
	}
}
