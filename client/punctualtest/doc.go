// Package punctualtest starts the service for a test and moves its time, so that a
// program is tested with what is sent next month.
//
// Call [Start] in a test, create jobs with the client of the [Service] or give its
// variables to the program under test, and call [Service.Advance]: everything due until
// then is sent before it returns, in order.
//
// The command punctual must be installed, or PUNCTUAL_BINARY name its file. It runs
// as punctual dev: with a temporary database, for this machine only, and with targets on
// this machine. Only the service's time moves: requests are signed with the machine's.
package punctualtest
