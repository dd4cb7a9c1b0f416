package nodes

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// subjects are parts of package e2e: tests whose names begin with a name and an
// underscore, or single tests.
type subjects struct {
	why   string
	names []string
}

// onPostgreSQL are the tests of package e2e that `make test` runs again on PostgreSQL:
// their outcome depends on how the database locks, commits, notifies and loses
// connections, which the suite of the stores can't show. All others run there if
// everything is asked for; see oneStore. Those that are pooled run behind PgBouncer, which
// changes just that, the others on the server itself.
var onPostgreSQL = []struct {
	subjects
	pooled bool
}{
	{subjects{"calls that meet each other or the start and the end of an attempt", []string{
		"Race", "Apply_IfMatchOfAnOlderPlanIsRefused", "Apply_SimultaneousCallsFollowOneAnother", "Cancel_SeveralJobsRaceWithStart",
		"Completion_RacesHaveOneOutcome", "Conditions_ManyAtOnceCreateOne", "Idempotency_SimultaneousCreatesStoreExactlyOne",
		"LimitQuota_HoldsForConcurrentCreates", "QStash_TopicsKeepWhatIsAddedAtOnce",
		"Reschedule_RaceWithStart", "RunNow_RaceWithStart", "Runs_TakeEachStepOnce", "ScheduleEdit_RaceWithFinish",
		"WebhookSequence_IsConsistentInARaceOfCancelAndStart",
	}}, true},
	{subjects{"kills between two statements, and what the next start finds", []string{
		"DurabilityCrash", "After_AKillLosesNothing", "Apply_AKillAppliesAllOrNothing", "Batch_AKillStoresAllOrNothing",
		"Completion_AReportBeforeTheResponseSurvivesAKill", "Completion_SurvivesKills", "Conflict_AFollowerSurvivesKills",
		"Edit_SurvivesKills",
		"LimitBudget_RequestOverItIsRecordedOnceDespiteCrashes", "Limits_ParallelHoldsThroughAKill", "Limits_RateHoldsThroughKills",
		"Operations_KilledInTheMiddleAreExact",
	}}, true},
	{subjects{"changes that a running service must notice through the database, also where no notification arrives", []string{
		"AccountSuspension_EndsAttemptsUntilResumed", "Cancel_AbortsARequestUnderWay", "Cancel_FreesTheJobsSlot",
		"Command_NewKeyIsAcceptedByARunningServiceAtOnce", "Command_RevokedKeyIsRefusedByARunningServiceWithin2Seconds",
		"LimitQuota_OfOneAccountTakesEffectAtOnce", "Limits_EndOfAnAwaitingAttemptIsUsedAtOnce",
		"Listen_AnswersJobsCallbacksAndWebhooksWithTheirSignatures",
		"Listen_EndsWhenTheKeyIsRevoked", "Listen_IsRetriedWhenTheListenerIsKilled", "Operations_RunReachesRetriesAndStartsAtOnce",
		"RunNow_StartsAPendingJobAtOnce", "Secrets_KeysRotateBesideARunningService", "Stream_EndsWhenItsKeyIsRevoked",
		"Stream_ReportsWhatHappensInTheAccount", "Stream_ResumesAfterTheLastLogSeen",
	}}, true},
	{subjects{"starts, stops and copies of a database that other processes use", []string{
		"Drain", "DurabilityCopy", "DurabilityKill", "DurabilitySIGTERM", "DurabilityStop", "Listen_OutlivesRestarts",
		"Account_StatisticsSurviveAStop", "JobExpiry_DiscardsAJobThatIsDueDuringDowntime", "ScheduleCatchUp_AfterDowntime",
		"Stream_EndsAtOnceWhenTheServiceStops",
	}}, false},
	{subjects{"lists and exports that are read while rows are written, and what is large", []string{
		"Apply_AThousandTwiceWritesNothingTheSecondTime", "ListCursor_HasNoGapOrRepeatWhileRowsAreCreated",
		"ListCursor_WalksLogsWhileJobsRun", "ListLogs_ExportIsReadInPagesUpToItsStart",
		"Retention_WorksWhileTheServiceRunsAndDelaysNothing", "WebhookPayload",
	}}, false},
	{subjects{"from a request to its log, its callback and the next run, for each kind of record", []string{
		"AccountDeletion", "Lateness", "Story", "After_AChainStartsInOrder", "API_HealthzAndReadyzReportAServiceThatIsUp",
		"Callback_IsRetriedAfter5SecondsWithTheSameID", "Conflict_ReplaceKeepsTheIdsAndAddsARevision", "Export_OfAWholeAccountCanBeApplied",
		"Groups_RunBecomesItsJobs", "Limits_WaitingIsShown", "Operations_RescheduleToATimeOrSpread", "Outcome_ResponsesSteerTheirSchedule",
		"QStash_MessageIsSentSignedAndReported", "Runs_AreListedShownAndCancelled", "Runs_RefuseAStepThatIsWrongWith412",
		"Runs_ResumedOnesKeepTheirHeaders",
		"ScheduleRun_EachIsAJobAndOneIsAlwaysUnfinished", "ScheduleDisable_StopsRunsAndEnableKeepsTheGrid",
		"Then_BodiesGetTheSummary", "Webhook_SuccessfulAttemptSendsStartRequestResponseAndFinish",
	}}, false},
}

// oneStore are the subjects that `make test` runs on SQLite only, but for the tests that
// onPostgreSQL names. Each subject of package e2e is in one of both lists.
var oneStore = []subjects{
	{"how a request is read, and its fields are checked", []string{
		"API", "APIBody", "APIGarbled", "APIMalformed", "APIRoute", "Args", "Docs", "KeyInPath", "KeyRequest", "Lists", "Preview", "Query",
		"Validation",
	}},
	{"what is sent to a target, where to, and what its response means", []string{
		"Attempt", "Dropped", "DynamicFields", "Failure", "Identity", "Mask", "Outcome", "Redact", "Request", "Response", "Secrets",
		"Signature",
		"Target", "TargetRedirect", "TargetURL", "Trace", "WebhookReceiver",
	}},
	{"commands that call the API, flags, and what the process itself shows", []string{
		"Command", "CommandApply", "CommandFlag", "CommandImport", "CommandJobs", "CommandLogs", "CommandOperations", "CommandTerminal",
		"CommandWait",
		"Examples", "Health", "Metrics", "Punctuality",
	}},
	{"limits that each process keeps in memory", []string{
		"LimitBudget", "LimitConnection", "LimitDescriptors", "LimitRate", "LimitShare",
	}},
	{"databases in a file", []string{"Damaged", "DurabilityLostFile", "DurabilityUnreadable"}},
	{"decisions, which are the same code inside a transaction of either store; the suite of the stores shows what is stored, and test/differ what is answered", []string{
		"After", "Alert", "Batch", "Callback", "CallbackOn", "Cancel", "Completion", "Conditions", "Conflict", "Edit", "Groups",
		"Idempotency", "JobExpiry",
		"Limits", "Operations", "Put", "Reschedule", "RunNow", "State", "Then", "Timing", "Webhook", "WebhookSequence",
		"ScheduleCatchUp", "ScheduleCron", "ScheduleDelete", "ScheduleDisable", "ScheduleEdit", "ScheduleEnable", "ScheduleEnd",
		"ScheduleGrid", "ScheduleKept",
		"ScheduleList", "ScheduleRun", "ScheduleSkipped", "Rehearse",
	}},
	{"records and lists, of which the suite of the stores shows every statement, and test/differ what is answered", []string{
		"APIRecord", "Account", "AccountKey", "AccountSuspension", "AlertMail", "Apply", "Audit", "Export", "LimitQuota", "List",
		"ListCursor", "ListFilter", "ListLogs",
		"ListOrder", "ListPage", "ListSearch", "PeopleMail", "PeopleProvider", "PeopleSecondFactor", "PeopleSignup", "Period", "Rerun",
		"Retention",
	}},
	{"calls that meet, and restarts under load, which this package has with three nodes",
		[]string{"DurabilityRestart", "RequestID", "RerunKey"}},
	{"other edges to the same service, with neither rules nor tables of their own", []string{"Agents", "QStash"}},
	{"connections to clients; listen_test.go has those between nodes", []string{"Listen", "Stream"}},
}

// wholeSuite reports whether all tests of package e2e run on PostgreSQL.
func wholeSuite() bool {
	return os.Getenv("PUNCTUAL_NODES_FULL") != "" || os.Getenv("PUNCTUAL_E2E_FULL") != ""
}

// has reports whether a test is one of the subjects, or belongs to one.
func (s subjects) has(test string) bool {
	return slices.ContainsFunc(s.names, func(name string) bool { return test == name || strings.HasPrefix(test, name+"_") })
}

// patternOnPostgreSQL selects the tests of onPostgreSQL.
func patternOnPostgreSQL(pooled bool) string {
	var names []string
	for _, part := range onPostgreSQL {
		if part.pooled != pooled {
			continue
		}
		for _, name := range part.names {
			if !strings.Contains(name, "_") {
				name += "_.*"
			}
			names = append(names, name)
		}
	}
	return "^Test(" + strings.Join(names, "|") + ")$"
}

// declared returns the names of the tests of package e2e, without Test.
func declared(t *testing.T) (names []string) {
	t.Helper()
	files, err := os.ReadDir("../e2e")
	if err != nil {
		t.Fatal(err)
	}
	declaration := regexp.MustCompile(`(?m)^func Test(\w+)\(t `)
	for _, file := range files {
		if !strings.HasSuffix(file.Name(), "_test.go") {
			continue
		}
		text, err := os.ReadFile("../e2e/" + file.Name())
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range declaration.FindAllSubmatch(text, -1) {
			names = append(names, string(found[1]))
		}
	}
	return names
}

func TestOnPostgreSQL_NamesTestsThatExistAndLeavesNoSubjectOut(t *testing.T) {
	tests := declared(t)
	var again, once subjects
	for _, part := range onPostgreSQL {
		again.names = append(again.names, part.names...)
	}
	for _, part := range oneStore {
		once.names = append(once.names, part.names...)
	}
	for _, list := range [][]string{again.names, once.names} {
		for i, name := range list {
			if !slices.ContainsFunc(tests, subjects{names: []string{name}}.has) || slices.Contains(list[:i], name) {
				t.Errorf("no test is named %s, or it is listed twice", name)
			}
		}
	}
	for _, name := range once.names {
		if slices.Contains(again.names, name) || strings.Contains(name, "_") {
			t.Errorf("%s is in both lists, or no subject", name)
		}
	}
	for _, test := range tests {
		if !again.has(test) && !once.has(test) {
			t.Errorf("%s is in neither list: say in onPostgreSQL or in oneStore where its subject is tested", test)
		}
	}
}
