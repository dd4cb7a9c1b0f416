package pages

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// tick is the unit of times in /proc.
const tick = 10 * time.Millisecond

// stat returns the fields of a process after its name; none where there is no /proc.
func stat(pid string) []string {
	text, _ := os.ReadFile(filepath.Join("/proc", pid, "stat"))
	_, rest, _ := bytes.Cut(text, []byte(") "))
	return strings.Fields(string(rest))
}

// processCPU returns the CPU that a process has used until now; 0 where there is no /proc.
func processCPU(pid int) time.Duration {
	fields := stat(strconv.Itoa(pid))
	if len(fields) < 13 {
		return 0
	}
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	return time.Duration(user+system) * tick
}

// serverCPU returns what reads the CPU of PostgreSQL's processes on this machine.
func serverCPU(databaseURL string, open func() database) func() time.Duration {
	if strings.HasPrefix(databaseURL, "sqlite:") {
		return func() time.Duration { return 0 }
	}
	db := open()
	defer db.close()
	found, err := db.rows("SELECT pg_backend_pid()")
	if err != nil || len(stat(found[0][0])) < 2 {
		return func() time.Duration { return 0 }
	}
	parent := stat(found[0][0])[1]
	return func() (all time.Duration) {
		processes, _ := filepath.Glob("/proc/[0-9]*")
		for _, p := range processes {
			pid := filepath.Base(p)
			if fields := stat(pid); len(fields) > 1 && (fields[1] == parent || pid == fmt.Sprint(parent)) {
				n, _ := strconv.Atoi(pid)
				all += processCPU(n)
			}
		}
		return all
	}
}
