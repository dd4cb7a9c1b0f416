// Package socket opens the addresses that a process listens on, so that a restart
// refuses no connection where a supervisor keeps the sockets meanwhile. Call Inherited
// once, then Set.Listen for each flag that names an address.
//
// Two protocols of systemd are spoken, which other supervisors speak too:
//
//   - Sockets that the supervisor has opened are passed to the process: LISTEN_PID,
//     LISTEN_FDS and LISTEN_FDNAMES of sd_listen_fds(3). Each is named like the flag that
//     it is for. Its address wins over that of the flag.
//   - Sockets that the process has opened are sent to the supervisor (FDSTORE=1 of
//     sd_notify(3)), which passes them to the next process in the same way. They are named
//     after the flag and its address, so a flag that has changed gets a new socket.
//
// Serving connections and letting them move to the next process is not done here: see
// edge.Server.Drain.
package socket
