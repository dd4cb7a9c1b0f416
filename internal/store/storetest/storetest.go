package storetest

import (
	"context"
	"maps"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/identity"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/store"
)

// opener opens an empty store.
type opener = func(t *testing.T, clock func() time.Time) store.Store

// group holds the tests of one part of the interface.
type group map[string]func(*world)

// concurrent are the tests in which goroutines meet, and two groups of them: those that
// the race detector is for. PUNCTUAL_STORETEST selects them, or the others, with
// "concurrent" or "sequential".
var concurrent = []string{
	"Alerts/TakesTurns", "Atomicity/NeighboursOfFailures", "Concurrency", "Conflicts/RacesLoseNoCall", "Definitions/DocumentAtOnce",
	"Definitions/PutBesideCreates", "Definitions/PutOfOneKeyAtOnce", "Identities/JoinedByOneOfMany", "Identity/AuditCountsConcurrently",
	"Identity/SecondFactorIsUsedOnce", "Limits/PassesAreConcurrent", "Liveness", "MailTokens/EmailsThatChange", "MailTokens/UsedByOneOfMany",
	"Members/AcceptedOnce", "Members/OwnersThatRemoveOthers", "Names/ChangeDuringOne", "Names/DeletionComesSecond",
	"Names/DeletionIsUnderWay", "People/InvitesForOne", "People/OneOfManyIsFirst", "Quotas/ConcurrentCreates",
	"Recipients/ChangesTakeTurns", "Requests/Exact", "SigningKeys/FirstOfManyIsKept",
}

// selected returns the names of the tests of a group that run.
func selected(t *testing.T, name string, tests group) []string {
	part := os.Getenv("PUNCTUAL_STORETEST")
	if part != "" && part != "concurrent" && part != "sequential" {
		t.Fatalf("PUNCTUAL_STORETEST=%q is neither concurrent nor sequential", part)
	}
	return slices.DeleteFunc(slices.Sorted(maps.Keys(tests)), func(test string) bool {
		meet := slices.Contains(concurrent, name) || slices.Contains(concurrent, name+"/"+test)
		return part != "" && meet != (part == "concurrent")
	})
}

// groups are all tests.
var groups = map[string]group{
	"Jobs": jobTests, "Idempotency": idempotencyTests, "Lists": listTests, "Schedules": scheduleTests,
	"Decisions": decisionTests, "Definitions": definitionTests, "Queue": queueTests, "Nodes": nodeTests, "Fencing": fencingTests,
	"Deliveries": deliveryTests, "ClaimRollback": claimRollbackTests, "Logs": logTests, "Accounts": accountTests,
	"Retention": retentionTests, "People": peopleTests, "Members": memberTests, "Identities": providerTests,
	"MailTokens": mailTokenTests, "Stats": statsTests, "Atomicity": atomicityTests, "Concurrency": concurrencyTests,
	"Identity": identityTests, "Liveness": livenessTests, "Search": searchTests, "Summaries": summaryTests, "Marks": markTests,
	"Pages": pageTests, "Filters": filterTests,
	"Quotas": quotaTests, "Blocked": blockedTests, "Suspects": suspectTests, "Targets": targetTests, "HeaderSecrets": headerSecretTests,
	"SigningKeys": signingKeyTests, "Alerts": alertTests, "Recipients": recipientTests,
	"Refusals": refusalTests, "Conflicts": conflictTests, "Limits": limitTests, "OrderedLimits": orderedLimitTests,
	"Groups": groupTests, "Mutes": muteTests, "Months": monthTests, "Waits": waitTests, "WorkflowRuns": workflowTests, "Uses": useTests,
	"Names":       nameTests,
	"Completions": completionTests, "Requests": requestTests, "Operations": operationTests, "Packed": packedTests,
}

// Run tests that a store implements package store. Open must open an empty store
// that uses the given clock, if it can; the suite closes it.
func Run(t *testing.T, open func(t *testing.T, clock func() time.Time) store.Store) {
	for _, name := range slices.Sorted(maps.Keys(groups)) {
		tests := selected(t, name, groups[name])
		if len(tests) == 0 {
			continue
		}
		t.Run(name, func(t *testing.T) {
			for _, test := range tests {
				t.Run(test, func(t *testing.T) { groups[name][test](newWorld(t, open)) })
			}
		})
	}
}

// world is the fixture of a test: an empty store with two accounts and a node.
type world struct {
	*testing.T
	ctx   context.Context
	s     store.Store
	owner job.Owner
	other job.Owner
	node  int64
	now   time.Time // the store's clock when the test began
}

func newWorld(t *testing.T, open opener) *world {
	t.Helper()
	w := &world{T: t, ctx: t.Context(), s: open(t, time.Now)}
	t.Cleanup(func() {
		if err := w.s.Close(); err != nil {
			t.Errorf("closing the store: %v", err)
		}
	})
	w.owner, w.other = w.account("owner@example.com"), w.account("other@example.com")
	var err error
	if w.node, err = w.s.NodeStart(w.ctx); err != nil {
		t.Fatalf("NodeStart: %v", err)
	}
	w.now = w.s.Now()
	return w
}

func (w *world) account(email string) job.Owner {
	w.Helper()
	a := &identity.Account{
		Owner: job.Owner{ID: uuid.New()}, Email: email, CreatedAt: w.s.Now(),
		Secrets: []identity.Secret{{Value: "whsec_" + email, CreatedAt: w.s.Now()}},
	}
	if err := w.s.AccountInsert(w.ctx, a); err != nil {
		w.Fatalf("AccountInsert: %v", err)
	}
	return a.Owner
}

// past and ahead are too far from now for a test to reach them.
func (w *world) past() time.Time  { return w.now.Add(-time.Hour) }
func (w *world) ahead() time.Time { return w.now.Add(time.Hour) }

// wantCode fails the test unless err is a fault of that code.
func (w *world) wantCode(what string, err error, code fault.Code) {
	w.Helper()
	if err == nil || fault.CodeOf(err) != code {
		w.Errorf("%s: error %v, want a fault of code %d", what, err, code)
	}
}

// ok stops the test if there is an error.
func (w *world) ok(what string, err error) {
	w.Helper()
	if err != nil {
		w.Fatalf("%s: %v", what, err)
	}
}

// same compares two records by their formatted fields.
func (w *world) same(what, got, want string) {
	w.Helper()
	if got != want {
		w.Errorf("%s:\n got %s\nwant %s", what, got, want)
	}
}
