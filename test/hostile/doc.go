// Package hostile attacks the real program while a victim uses it.
//
// One service runs in bounded memory (GOMEMLIMIT and a limit on its address
// space). A victim account creates 20 jobs a second for its own target. Beside
// it each attack runs for a short time: requests that cost more than they should,
// clients that hold connections, targets and receivers that misbehave, accounts
// that want every slot.
//
// After each attack four conditions are checked:
//   - the victim's jobs started at most 250 ms late (99th percentile) on a quiet
//     machine (`make hostile`), and elsewhere at most a second, times the factor of
//     package pace; to both comes twenty times what the machine itself woke a goroutine
//     late. For a quiet machine both are measured while no attack is made, right before
//     it or after, so that what the attack takes from the victim is not allowed for;
//   - the process never used more than 512 MiB;
//   - no response had a status of 500 or more but 503, nor INTERNAL or UNKNOWN by gRPC;
//   - every job that was accepted from the victim was sent, once.
//
// Attackers call from addresses of their own (127.0.1.x), since limits count by
// network address. A stall of the machine itself proves nothing, so an attack that
// seems to succeed is repeated, and counts only if it succeeds each time.
//
// Three attacks are made at once, each on a service of its own with a victim of its own;
// on a quiet machine one.
//
// The attacks are in tables, one file for each kind; see [attack].
package hostile
