// Package outbox adds jobs to an application's own database, in its own transactions:
//
//	tx, err := db.BeginTx(ctx, nil)
//	…
//	if _, err := tx.ExecContext(ctx, `INSERT INTO orders …`); err != nil { … }
//	if _, err := outbox.Enqueue(ctx, tx, client.JobRequest{URL: "https://shop.example/remind", ScheduleIn: …}); err != nil { … }
//	err = tx.Commit()
//
// Commit, and the job will be created; roll back, and it won't. punctual outbox schema
// prints the tables. punctual outbox run, or punctual serve --outbox, creates the jobs.
// The package depends on the standard library only; EnqueuePGX takes the transactions of
// pgx.
package outbox
