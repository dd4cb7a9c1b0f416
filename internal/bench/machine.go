package bench

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
)

// Machine describes what the bench ran on. What a system does not report is left
// out.
type Machine struct {
	System     string  `json:"system"`
	Kernel     string  `json:"kernel,omitempty"`
	Processors int     `json:"processors"`
	Processor  string  `json:"processor,omitempty"`
	MemoryMiB  int     `json:"memory_mib,omitempty"`
	Filesystem string  `json:"filesystem,omitempty"` // of the database that is thrown away
	Load       float64 `json:"load"`                 // the average of the minute before
}

// describeMachine reads /proc on Linux; elsewhere little is known.
func describeMachine(directory string) Machine {
	m := Machine{
		System: runtime.GOOS + "/" + runtime.GOARCH, Processors: runtime.NumCPU(),
		Kernel:     firstLine("/proc/sys/kernel/osrelease"),
		Processor:  entry("/proc/cpuinfo", "model name"),
		Filesystem: filesystem(directory),
	}
	if kib, _, ok := strings.Cut(entry("/proc/meminfo", "MemTotal"), " "); ok {
		n, _ := strconv.Atoi(kib)
		m.MemoryMiB = n / 1024
	}
	load, _, _ := strings.Cut(firstLine("/proc/loadavg"), " ")
	m.Load, _ = strconv.ParseFloat(load, 64)
	return m
}

func firstLine(file string) string {
	text, err := os.ReadFile(file)
	if err != nil {
		return ""
	}
	line, _, _ := strings.Cut(string(text), "\n")
	return line
}

// entry returns the value of the first line "name: value" of a file.
func entry(file, name string) string {
	text, err := os.ReadFile(file)
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(text)) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// filesystem returns the type of the file system that a directory is on.
func filesystem(directory string) (kind string) {
	text, err := os.ReadFile("/proc/mounts")
	if err != nil {
		return ""
	}
	longest := 0
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) < 3 {
			continue
		}
		at := strings.TrimSuffix(fields[1], "/")
		if len(at)+1 > longest && strings.HasPrefix(directory+"/", at+"/") {
			longest, kind = len(at)+1, fields[2]
		}
	}
	return kind
}

// String describes the machine in a line.
func (m Machine) String() string {
	parts := []string{m.System}
	if m.Processor != "" {
		parts = append(parts, fmt.Sprintf("%d × %s", m.Processors, m.Processor))
	} else {
		parts = append(parts, fmt.Sprintf("%d processors", m.Processors))
	}
	if m.MemoryMiB > 0 {
		parts = append(parts, fmt.Sprintf("%.1f GiB", float64(m.MemoryMiB)/1024))
	}
	return strings.Join(parts, ", ")
}

// warnings returns the properties of the machine that make the figures less reliable.
func (m Machine) warnings() (notes []string) {
	if m.Load > float64(m.Processors)/2 {
		notes = append(notes, fmt.Sprintf("The machine is busy (load %.1f): compare ratios only, or wait for it to be quiet.", m.Load))
	}
	if m.Filesystem == "tmpfs" || m.Filesystem == "ramfs" {
		notes = append(notes, "The database is in memory, where a commit costs nothing; let TMPDIR name a directory on a disk.")
	}
	return notes
}
