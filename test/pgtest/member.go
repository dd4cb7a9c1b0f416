package pgtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/punctual-dev/punctual/test/ports"
)

// Member is a PostgreSQL server under Patroni.
type Member struct {
	Name string
	Port int // of the server itself

	patroni daemon
	api     int // the port of its Patroni
}

// member prepares one, of which others see the ends of links only.
func (p *Patroni) member(i int, etcd string, network Network) (*Member, error) {
	port, err1 := ports.Pick()
	api, err2 := ports.Pick()
	name := "pg" + strconv.Itoa(i+1)
	m := &Member{Name: name, Port: port, api: api, patroni: daemon{dir: filepath.Join(p.dir, name), name: "patroni"}}
	if err := errors.Join(err1, err2, makeOwn(m.patroni.dir)); err != nil {
		return nil, err
	}
	postgres, err := program("postgres")
	if err != nil {
		return nil, err
	}
	here := func(port int) string { return fmt.Sprintf("127.0.0.1:%d", port) }
	text, err := json.Marshal(map[string]any{
		"scope": "punctual", "name": name,
		"restapi": map[string]any{"listen": here(api), "connect_address": here(network(i, API, here(api)))},
		// Otherwise it would ask etcd for its address, and leave the link.
		"etcd3":     map[string]any{"hosts": []string{here(network(i, ToEtcd, etcd))}, "use_proxies": true},
		"bootstrap": bootstrap,
		"postgresql": map[string]any{
			"listen": here(port), "connect_address": here(network(i, Replication, here(port))),
			"data_dir": m.data(), "bin_dir": filepath.Dir(postgres), "pgpass": filepath.Join(m.patroni.dir, "pgpass"),
			"authentication": map[string]any{"superuser": role("postgres"), "replication": role("replicator"), "rewind": role("postgres")},
			"parameters":     map[string]any{"unix_socket_directories": ""},
		},
	})
	if err == nil {
		err = os.WriteFile(m.settings(), text, 0o644)
	}
	return m, err
}

func role(name string) map[string]any { return map[string]any{"username": name} }

// bootstrap is what the first member initialises the cluster with. JSON is YAML.
var bootstrap = map[string]any{
	"dcs": map[string]any{
		"ttl": PatroniTTL, "loop_wait": PatroniLoopWait, "retry_timeout": PatroniRetryTimeout,
		"synchronous_mode": true,
		"postgresql": map[string]any{
			"use_pg_rewind": true,
			"parameters": map[string]any{"max_connections": 200, "wal_sender_timeout": "5s", "wal_receiver_timeout": "5s",
				"log_checkpoints": "off", "fsync": "off"},
		},
	},
	"initdb": []any{map[string]any{"encoding": "UTF8"}, map[string]any{"locale": "C"}, "no-sync"},
	"pg_hba": []string{"host all all 127.0.0.1/32 trust", "host replication all 127.0.0.1/32 trust"},
}

func (m *Member) data() string     { return filepath.Join(m.patroni.dir, "data") }
func (m *Member) settings() string { return filepath.Join(m.patroni.dir, "patroni.yml") }

// Run starts its Patroni, which starts its server.
func (m *Member) Run() error { return m.patroni.start(m.settings()) }

// KillPatroni ends its Patroni; its server goes on. Run starts Patroni again.
func (m *Member) KillPatroni() {
	m.patroni.signal(syscall.SIGKILL)
	m.patroni.wait()
}

// Kill ends its Patroni and all of its server's processes at once, as a power cut
// would.
func (m *Member) Kill() {
	m.KillPatroni()
	if server := m.server(); server != 0 {
		for _, pid := range append(children(server), server) {
			_ = syscall.Kill(pid, syscall.SIGKILL) // it may be gone already
		}
	}
}

// server returns the number of its server's first process; 0 if it does not run.
func (m *Member) server() int {
	text, err := os.ReadFile(filepath.Join(m.data(), "postmaster.pid"))
	if err != nil {
		return 0
	}
	first, _, _ := strings.Cut(string(text), "\n")
	pid, err := strconv.Atoi(first)
	if err != nil {
		return 0
	}
	// Of a server that was killed, the file is left over, and the number may be
	// another process's.
	arguments, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil || !strings.Contains(string(arguments), m.patroni.dir) {
		return 0
	}
	return pid
}

// IsPrimary reports whether it is the primary, and etcd knows it as such.
func (m *Member) IsPrimary() bool { return answers(fmt.Sprintf("http://127.0.0.1:%d/primary", m.api)) }
