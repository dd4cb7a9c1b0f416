// Package fault defines the error type for errors that are shown to people: make one
// with [New], read one with [CodeOf] and [ProblemsOf].
//
// A fault has a code, a message that is safe to show and says what to do, the
// problems found in a request, and the cause for the log. Packages below the edge
// return faults for errors that a caller can fix, and wrapped plain errors for
// everything else. The edge maps codes to responses in one place and treats any
// other error as internal.
package fault
