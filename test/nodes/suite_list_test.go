package nodes

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// oneStore are the tests of package e2e that one run on SQLite shows all of: their
// subject is decided before anything is stored, after it was read, or without a store.
// They don't run again on PostgreSQL unless everything is asked for. An entry is a test,
// or the part of its name before the underscore: all tests of that subject.
var oneStore = []struct {
	why   string
	tests []string
}{
	{"how a request is read, and its fields are checked", []string{
		"APIBody", "APIGarbled", "Preview", "Query", "Lists", "Docs",
		"APIRoute_BearerAndTokenCarryTheSameKeys", "APIRoute_OtherHostsThanThePublicURLAreRefused",
		"APIRoute_OtherMethodsAre405WithAllow", "APIRoute_ProtocolErrorsAreProblems", "APIRoute_UnknownIs404WithAndWithoutAKey",
		"API_BroadcastReturnsTheSameObject", "API_DocsAreAReadableReference", "API_DocumentIsValidAndComplete",
		"API_EchoReturnsItsJSONBody", "API_PingReturnsPong",
		"Agents_ConfusedCallsAreRefusedAndChangeNothing", "Agents_GuideShowsWhatHappens", "Agents_LargeRecordsAreShortened",
		"Agents_RequestsAreCheckedBeforeTheProtocol", "Agents_SeeEveryToolAndNothingMore",
		"AccountKey_InvalidFieldsAreRefused", "AccountKey_InvalidRestrictionsAreRefused", "Alert_RefusedWithPointersAndNothingStored",
		"Args_FormsAreReadWithBracketNotation", "Args_FormsCarryKeysNamesAndRefusals", "Batch_RefusesWhatCantBeRead",
		"Cancel_SeveralJobsRefusesAnInvalidListOfIDs", "Limits_HostIsReadAsInURLs", "Limits_RefusedBodies",
		"ListCursor_ForgedIs422", "ListLogs_InvalidFiltersAreRefused", "ListOrder_InvalidIs422NamingTheAllowedFields",
		"ListOrder_IsReadInAllItsForms", "ListSearch_RefusesIncompatibleParameters", "List_InvalidLimitsAndOffsetsAre422",
		"List_ReportsAllProblemsOfAQuery", "Listen_RefusesBadOptionsAndTheWrongKeys", "Outcome_OptionsAreReadFromForms",
		"Rehearse_RefusesWhatIsWrong", "Reschedule_InvalidDueTimeIsRefusedAndChangesNothing", "ScheduleEdit_RefusesReadOnlyFields", "ScheduleEnd_DisableAfterIsForSchedules",
		"Timing_InvalidDurationsAreRefused", "Timing_OtherFormsOfScheduledAtAreRefused",
		"Validation_BodyMustBeAnObject", "Validation_ListsAtMost100Problems", "Validation_ListsEveryProblem",
		"Validation_PointsAtTheInvalidField", "Validation_UnknownFieldNamesTheNearestKnownOne",
	}},
	{"the arithmetic of cron expressions", []string{
		"ScheduleCron_FirstTickIsAtOrAfterTheStart", "ScheduleCron_InvalidExpressionsAreRefused", "ScheduleCron_TimezoneIsIANAAndNeedsCron",
		"ScheduleCron_WithoutAFutureStartTicksFromNow", "ScheduleCron_ZoneInTheExpressionIsRefusedNamingTimezone",
	}},
	{"what is sent to a target, where to, and what its response means", []string{
		"Mask", "Request", "TargetRedirect", "TargetURL", "WebhookReceiver",
		"Attempt_FailsOnAnyOtherFinalStatus", "Attempt_SlowResponseWithinTheTimeoutSucceeds", "Attempt_SucceedsOnAny2xx",
		"Attempt_TimeoutCoversTheWholeResponse",
		"DynamicFields_BodyThatIsExactlyOneIsReplaced", "DynamicFields_FormFieldsAreReplacedWithoutMetadataKeys",
		"DynamicFields_ObjectGetsThreeMetadataKeysAlsoInTheLog", "DynamicFields_StringThatIsExactlyOneIsReplaced",
		"Failure_BlockedAddressIsNotRetried", "Failure_BlockedReceiversAreNeverConnectedTo", "Outcome_SuccessListDecidesWhichResponsesSucceed",
		"Secrets_AreDroppedAtOtherHosts", "Secrets_ErrorsDontRepeatTheBody", "Secrets_GoOverHTTPOnlyIfPermitted",
		"Secrets_NeedAKeyFile", "Secrets_NoCodingOrRangeHidesThem", "Secrets_TokensAreFetchedThroughTheGuard",
		"Signature_OfJobsCallbacksAndWebhooksFollowsStandardWebhooks", "Signature_TimestampIsTheTimeOfSending",
		"Target_AllowedOneNeedsNoSwitch", "Target_DeniedOneIsRefusedWhateverElseIsPermitted", "Target_HTTPIsCalledWithTheSwitchOnly",
		"Target_JobsThatCreateJobsEndAfterThreeHops", "Target_PortsAreRestricted",
		"Trace_MistakeInTheEnvironmentIsReportedAndJobsRun", "Trace_UnreachableCollectorDelaysNoJobsAndDropsAreCounted",
	}},
	{"how mail is sent", []string{
		"AlertMail_NoPasswordWithoutTLS", "AlertMail_WithSTARTTLSOrTLSAndAPassword", "AlertMail_WithoutAPasswordTLSIsOptional", "AlertMail_WithoutAPublicURL",
	}},
	{"commands that call the API, flags, and what the process itself shows", []string{
		"CommandImport", "CommandJobs", "CommandLogs", "CommandTerminal", "CommandWait", "Examples", "Health",
		"CommandApply_JoinsFilesOfAnOwner", "CommandApply_NeedsYesWithoutATerminal",
		"CommandFlag_EachIsAlsoAnEnvironmentVariable", "CommandFlag_InvalidValueExitsNonZeroNamingTheFlag",
		"CommandFlag_ListenDefaultsToLoopback8080", "CommandFlag_LogFormatIsHonoured", "CommandFlag_RetentionIsReadInTheseForms",
		"CommandFlag_SwitchesReadAsGoReadsBooleans", "CommandFlag_WinsOverItsEnvironmentVariable",
		"CommandFlag_WithoutTargetCAFileOnlySystemCertificatesAreTrusted",
		"Command_DemoNeedsNothingAndEndsWithin30SecondsWithASummary", "Command_TakesFlagsBeforeOrAfterArguments",
		"Metrics_AreServedOnAnotherAddress", "Metrics_CountWhatHappens", "Metrics_ShowRequestsUnderWay",
	}},
	{"limits that each process keeps in memory", []string{
		"LimitDescriptors", "LimitRate", "LimitShare", "LimitBudget_ManyDynamicFieldsDelayNoOtherJob", "LimitBudget_RequestThatCannotFitIsRefusedOnCreate",
		"LimitConnection_BodyThatDoesNotArriveTimesOut", "LimitConnection_ClientThatDoesNotReadItsResponseIsClosed",
		"LimitConnection_DeclaredLengthsCostNoMemory", "LimitConnection_FloodKeepsNoOtherClientOut",
		"LimitConnection_HeaderOfVeryManyLinesIsRefused", "LimitConnection_HeaderThatNeverEndsTimesOut", "LimitConnection_LargeBodiesInFlightAreBounded",
	}},
}

// fewerMalformed is how many malformed requests suffice on PostgreSQL: they are refused
// before it is asked.
const fewerMalformed = "1000"

// wholeSuite reports whether all tests of package e2e run on PostgreSQL.
func wholeSuite() bool {
	return os.Getenv("PUNCTUAL_NODES_FULL") != "" || os.Getenv("PUNCTUAL_E2E_FULL") != ""
}

// skipped returns the pattern of the tests in oneStore.
func skipped() string {
	var all []string
	for _, part := range oneStore {
		for _, name := range part.tests {
			if strings.Contains(name, "_") {
				name += "$"
			} else {
				name += "_"
			}
			all = append(all, name)
		}
	}
	return "^Test(" + strings.Join(all, "|") + ")"
}

func TestOneStore_NamesTestsThatExist(t *testing.T) {
	files, err := os.ReadDir("../e2e")
	if err != nil {
		t.Fatal(err)
	}
	declaration := regexp.MustCompile(`(?m)^func Test(\w+)\(t `)
	var declared []string
	for _, file := range files {
		if !strings.HasSuffix(file.Name(), "_test.go") {
			continue
		}
		text, err := os.ReadFile("../e2e/" + file.Name())
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range declaration.FindAllSubmatch(text, -1) {
			declared = append(declared, string(found[1]))
		}
	}
	var names []string
	for _, part := range oneStore {
		names = append(names, part.tests...)
	}
	for i, name := range names {
		exists := func(test string) bool { return test == name || strings.HasPrefix(test, name+"_") }
		if !slices.ContainsFunc(declared, exists) || slices.Contains(names[:i], name) {
			t.Errorf("no test is named %s, or it is listed twice", name)
		}
	}
	once, pooled := regexp.MustCompile(skipped()), regexp.MustCompile(behindAPooler)
	left := slices.DeleteFunc(declared, func(test string) bool { return once.MatchString("Test"+test) && !pooled.MatchString("Test"+test) })
	if len(left) < 300 {
		t.Errorf("only %d tests run on PostgreSQL", len(left))
	}
}
