package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/punctual-dev/punctual/internal/job"
)

// bareCreate is what the bare handler reads of a create, and args in its response.
type bareCreate struct {
	Method      string          `json:"method"`
	URL         string          `json:"url"`
	ScheduledAt string          `json:"scheduled_at"`
	Headers     struct{}        `json:"headers"`
	Body        json.RawMessage `json:"body"`
}

// bareRecord is its response, as large as the service's.
type bareRecord struct {
	ID             string     `json:"id"`
	IdempotencyKey *string    `json:"idempotency_key"`
	InsertedAt     string     `json:"inserted_at"`
	Name           *string    `json:"name"`
	Description    *string    `json:"description"`
	UserID         string     `json:"user_id"`
	ScheduleID     *string    `json:"schedule_id"`
	JobID          int64      `json:"job_id"`
	Job            bareJob    `json:"job"`
	Args           bareCreate `json:"args"`
}

type bareJob struct {
	AttemptedAt *string `json:"attempted_at"`
	CancelledAt *string `json:"cancelled_at"`
	CompletedAt *string `json:"completed_at"`
	DiscardedAt *string `json:"discarded_at"`
	HasConfict  bool    `json:"has_confict"`
	ID          int64   `json:"id"`
	InsertedAt  string  `json:"inserted_at"`
	ScheduledAt string  `json:"scheduled_at"`
	State       string  `json:"state"`
}

const bareUser = "00000000-0000-4000-8000-000000000001"

// runBareHandler serves creates that are stored nowhere.
func runBareHandler(ctx context.Context, out io.Writer) error {
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := &http.Server{Handler: &bareHandler{}, ReadHeaderTimeout: 30 * time.Second}
	go func() {
		<-ctx.Done()
		_ = server.Close()
	}()
	if _, err := fmt.Fprintf(out, "listening on http://%s\n", listener.Addr()); err != nil {
		return err
	}
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

type bareHandler struct{ jobs atomic.Int64 }

// ServeHTTP implements http.Handler.
func (h *bareHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var in bareCreate
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	number, now := h.jobs.Add(1), time.Now().UTC()
	text, err := json.Marshal(struct {
		Data bareRecord `json:"data"`
	}{bareRecord{
		ID: fmt.Sprintf("00000000-0000-4000-8000-%012x", number), UserID: bareUser, JobID: number, Args: in,
		InsertedAt: now.Format("2006-01-02T15:04:05"),
		Job:        bareJob{ID: number, InsertedAt: job.FormatTime(now), ScheduledAt: in.ScheduledAt, State: "available"},
	}})
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header()["Content-Type"] = []string{"application/json"}
	w.Header()["Location"] = []string{"/api/jobs/" + strconv.FormatInt(number, 10)}
	w.WriteHeader(http.StatusCreated)
	_, _ = w.Write(text)
}
