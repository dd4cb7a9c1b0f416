package attempt

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/notify"
	"github.com/punctual-dev/punctual/internal/rawjson"
)

// Mailer sends e-mails of alerts.
type Mailer interface {
	// Send sends an e-mail of an account's alert. A Response with a 2xx status means
	// that the mail server has taken it. The id is the same for every try.
	Send(ctx context.Context, owner job.Owner, to, id string, letter notify.Letter) job.Outcome
}

// mail sends an e-mail of an alert.
func (r *Runner) mail(ctx context.Context, d *job.Delivery, body rawjson.Value, due time.Time) job.Outcome {
	if r.Mail == nil {
		return job.Outcome{Failure: &job.Failure{Kind: job.KindConnect,
			Message: "the service was started without --smtp-url, so it can't send e-mails"}}
	}
	var letter notify.Letter
	if err := json.Unmarshal(body, &letter); err != nil {
		return job.Outcome{Failure: &job.Failure{Kind: job.KindUnstored, Message: "the e-mail's text can't be read"}}
	}
	r.Metrics.Begun(kindDelivery, r.Queue.Now().Sub(due))
	outcome := r.Mail.Send(ctx, d.Owner, strings.TrimPrefix(d.URL, "mailto:"), d.MessageID, letter)
	r.Metrics.Attempted(kindDelivery, outcomeName(&outcome, delivered(&outcome)), outcome.Duration)
	return outcome
}
