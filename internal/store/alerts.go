package store

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
)

const (
	// MaxAlerts is the maximum number of alerts of an account.
	MaxAlerts = 100
	// MaxAlertBytes is the maximum size of an account's definitions together, in
	// bytes. They are all read whenever the account is tracked, with the Data of each
	// alert: less than 3 KiB.
	MaxAlertBytes = 128 << 10
	// MaxTracked is how many outcomes, due states and late runs one AlertTrack
	// reads of each.
	MaxTracked = 100
)

// The messages of the faults for exceeding MaxAlerts and MaxAlertBytes.
const (
	TooManyAlerts  = "the account has 100 alerts already; delete one, or let one match more"
	TooLargeAlerts = "the alerts of the account would have more than 128 KiB together; delete one, or use shorter URLs"
)

// RefuseAlert returns an Invalid fault if an alert with a definition of that size
// can't be stored beside others of the account, or nil.
func RefuseAlert(others, bytes, size int) error {
	switch {
	case others >= MaxAlerts:
		return fault.New(fault.Invalid, TooManyAlerts)
	case bytes+size > MaxAlertBytes:
		return fault.New(fault.Invalid, TooLargeAlerts)
	}
	return nil
}

// Alert is an alert as stored: what package alert has read, and what it keeps
// while it tracks.
type Alert struct {
	Owner      job.Owner
	Name       string
	Definition rawjson.Value
	// Match is the part of the definition that selects jobs. Another Match starts
	// the alert's tracking anew.
	Match      rawjson.Value
	InsertedAt time.Time
	UpdatedAt  time.Time
	// LateBy is after which lateness of a run the alert reports it; 0 for never.
	LateBy time.Duration
	Data   rawjson.Value // of the tracker; nil at first
	WakeAt time.Time     // when the tracker must look at the alert again; zero for never
}

// AlertOutcomeKind is what an AlertOutcome reports.
type AlertOutcomeKind int

// The kinds of outcomes. They are stored.
const (
	AlertSucceeded AlertOutcomeKind = 1 // a job is completed
	AlertFailed    AlertOutcomeKind = 2 // a job is discarded
	AlertSkipped   AlertOutcomeKind = 3 // a schedule has passed over points of its grid
	AlertEnded     AlertOutcomeKind = 4 // a schedule has ended with the job
	AlertAnswered  AlertOutcomeKind = 5 // a message of an alert was accepted or given up
)

// AlertOutcome is what happened to a job of an account with alerts, or to a message about it. It is stored
// in the transaction that causes it and deleted in the one that tracks it.
type AlertOutcome struct {
	Owner    job.Owner
	Job      int64     // the job's number
	Schedule uuid.UUID // uuid.Nil for a one-off job
	Kind     AlertOutcomeKind
	At       time.Time
	Tags     string        // of the job, separated by spaces
	Detail   rawjson.Value // what messages show; of AlertAnswered, an AlertAnswer
}

// AlertAnswer is the Detail of AlertAnswered.
type AlertAnswer struct {
	ID       string   `json:"id"`               // the MessageID
	Status   int      `json:"status,omitempty"` // of the last response; 0 for none
	Error    job.Kind `json:"error,omitempty"`  // why there was none
	GivenUp  bool     `json:"given_up,omitempty"`
	Attempts int      `json:"attempts"`
}

// AlertStateKind is what an AlertState is about.
type AlertStateKind int

// The kinds of states. They are stored.
const (
	AlertFailing AlertStateKind = 1 // failures in a row
	AlertLate    AlertStateKind = 2 // a run that hasn't started
)

// AlertStateKey identifies a state: that of an alert for a schedule, or for all
// one-off jobs together (uuid.Nil).
type AlertStateKey struct {
	Schedule uuid.UUID
	Alert    string
	Kind     AlertStateKind
}

// AlertState is what an alert has seen of a schedule.
type AlertState struct {
	AlertStateKey
	Job    int64     // the latest job that it is about
	WakeAt time.Time // when to send a reminder; zero for never
	Data   rawjson.Value

	// Lasts is set in a Snapshot for states whose WakeAt has come: the schedule
	// exists and is enabled (AlertFailing), or the job hasn't started (AlertLate).
	Lasts bool
}

// AlertSnapshot is the input of an AlertDecide.
type AlertSnapshot struct {
	Now    time.Time
	Owner  job.Owner
	Data   rawjson.Value  // what the tracker keeps for the account; nil at first
	Alerts []*Alert       // ordered by name
	Events []AlertOutcome // the oldest MaxTracked, in order
	States []AlertState   // those of the schedules in Events, and those that are due
	Late   []bool         // for each given queue item, whether it is still unclaimed
	// Muted has the schedules whose failures are not to be sent.
	Muted map[uuid.UUID]bool
}

// AlertMessage identifies a delivery of an alert.
type AlertMessage struct {
	Job int64  `json:"job"` // the job's number
	ID  string `json:"id"`  // the MessageID
}

// AlertChanges is the result of an AlertDecide. The events of the Snapshot are
// deleted in any case.
type AlertChanges struct {
	Data       rawjson.Value
	Alerts     []*Alert // whose Data and WakeAt have changed
	States     []AlertState
	Ended      []AlertStateKey
	Deliveries []job.Delivery
	// Withdrawn are deliveries to be deleted if they are still pending.
	Withdrawn []AlertMessage
}

// AlertDecide decides what alerts send. It must not block, and may be called
// again if the transaction is retried. Nil changes nothing but deletes the events.
type AlertDecide func(*AlertSnapshot) *AlertChanges

// LateRange is the least and the greatest LateBy of an account's alerts that have
// one; zero if none has.
type LateRange struct{ Min, Max time.Duration }

// Alerts stores alerts and what they track.
type Alerts interface {
	// AlertPut creates an alert or replaces its definition; an equal one changes
	// nothing. It sets InsertedAt and UpdatedAt. It returns an Invalid fault if
	// it would exceed MaxAlerts or MaxAlertBytes, and the
	// fault of putIf.Check if the condition does not hold.
	AlertPut(ctx context.Context, a *Alert, putIf PutIf) (created bool, err error)
	// AlertGet returns one of the owner's alerts, or a NotFound fault.
	AlertGet(ctx context.Context, owner job.Owner, name string) (*Alert, error)
	// AlertList returns the owner's alerts in order of their names.
	AlertList(ctx context.Context, owner job.Owner) ([]*Alert, error)
	// AlertStates returns up to limit of the owner's states of failures in a row.
	AlertStates(ctx context.Context, owner job.Owner, limit int) ([]AlertState, error)
	// AlertMessages returns the pending deliveries of alerts about some of the owner's
	// jobs, without their bodies: those among the first limit deliveries of each job. Cut
	// reports that a job may have more.
	AlertMessages(ctx context.Context, owner job.Owner, jobs []int64, limit int) (found []*job.Delivery, cut bool, err error)
	// AlertDelete deletes an alert with what it has tracked, or returns a NotFound
	// fault.
	AlertDelete(ctx context.Context, owner job.Owner, name string) error
	// AlertAccounts returns the accounts that have alerts, and the revision of this
	// answer. If nothing has changed since the revision known, accounts is nil.
	AlertAccounts(ctx context.Context, known int64) (revision int64, accounts map[int64]LateRange, err error)
	// AlertsPending returns up to limit accounts that have events or states to
	// track now, and when the next one will have; zero for never.
	AlertsPending(ctx context.Context, limit int) (accounts []int64, next time.Time, err error)
	// AlertTrack calls decide for an account in a transaction and applies the
	// changes. It takes turns with other nodes. Late are queue items of the account
	// that may be late. More reports that there are further events or due states.
	// If the account has no alerts, AlertTrack deletes its events.
	AlertTrack(ctx context.Context, account int64, late []QueueKey, decide AlertDecide) (more bool, err error)
	// AlertStatePrune deletes up to limit states of schedules that don't exist any
	// more.
	AlertStatePrune(ctx context.Context, limit int) (int, error)
}
