// Package fault holds the one error type that reaches a person.
//
// A fault carries a code (what kind of thing went wrong), a sentence that is
// safe to show and says what to do, the single problems found in a request, and
// the cause for the log. Packages below the edge return faults for what a
// caller can mend and wrapped plain errors for everything else; the edge maps
// codes to answers in one place and treats any other error as internal.
package fault
