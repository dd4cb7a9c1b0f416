package view

import "time"

// LatenessRow is how late the jobs of all accounts began in a period. Its figures are
// texts.
type LatenessRow struct {
	Name                            string
	Since                           time.Time
	Attempts, P50, P99, P999, Worst string
}
