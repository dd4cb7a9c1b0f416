// Nightly-report makes a report every night at two. The work takes longer than a
// request: the program responds at once and reports progress and result later.
//
// It reads PUNCTUAL_URL, PUNCTUAL_API_KEY and PUNCTUAL_SIGNING_SECRET; PUBLIC_URL is
// where the service reaches it, LISTEN is its own address.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log"
	"net/http"
	"os"
	"os/signal"
	"sync"
	"time"

	"github.com/punctual-dev/punctual/client"
	"github.com/punctual-dev/punctual/client/receiver"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) error {
	punctual, err := client.New(client.Config{URL: os.Getenv("PUNCTUAL_URL"), Key: os.Getenv("PUNCTUAL_API_KEY")})
	if err != nil {
		return err
	}
	verifier, err := client.NewVerifier(os.Getenv("PUNCTUAL_SIGNING_SECRET"))
	if err != nil {
		return err
	}
	reports := &reports{ctx: ctx, punctual: punctual}
	handler, err := receiver.New(http.HandlerFunc(reports.begin), receiver.Options{Verifier: verifier})
	if err != nil {
		return err
	}
	server := &http.Server{Addr: cmp.Or(os.Getenv("LISTEN"), ":8090"), Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	context.AfterFunc(ctx, func() { _ = server.Shutdown(context.Background()) })
	if err := schedule(ctx, punctual, os.Getenv("PUBLIC_URL")); err != nil {
		return err
	}
	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	reports.running.Wait()
	return nil
}

// schedule creates the schedule, or changes it to this. The key makes that safe at
// every start.
func schedule(ctx context.Context, punctual *client.Client, publicURL string) error {
	record, created, err := punctual.PutSchedule(ctx, client.Key("nightly-report"), client.JobRequest{
		Name: "Nightly report", URL: publicURL + "/report", Method: "post",
		Cron: "0 2 * * *", Timezone: "Europe/Berlin",
		Completion: &client.Completion{Within: client.In(2 * time.Hour), Heartbeat: client.In(5 * time.Minute)},
	})
	if err != nil {
		return fmt.Errorf("scheduling the report: %w", err)
	}
	log.Printf("schedule %s, created: %t", record.ID, created)
	return nil
}

type reports struct {
	ctx      context.Context
	punctual *client.Client
	running  sync.WaitGroup
}

// begin accepts a run and makes its report in the background.
func (r *reports) begin(w http.ResponseWriter, request *http.Request) {
	address := request.Header.Get("X-Punctual-Complete")
	r.running.Go(func() {
		if err := r.make(address); err != nil {
			log.Print(err)
		}
	})
	w.WriteHeader(http.StatusAccepted)
}

// make makes the report; three steps stand for the work.
func (r *reports) make(address string) error {
	for step := range 3 {
		progress := float64(step) * 100 / 3
		if _, err := r.punctual.CompleteAttempt(r.ctx, address,
			client.Report{Progress: &progress, Message: fmt.Sprintf("step %d of 3", step+1)}); err != nil {
			return fmt.Errorf("reporting progress: %w", err)
		}
	}
	if _, err := r.punctual.CompleteAttempt(r.ctx, address, client.Report{Result: map[string]int{"rows": 1042}}); err != nil {
		return fmt.Errorf("reporting the result: %w", err)
	}
	return nil
}
