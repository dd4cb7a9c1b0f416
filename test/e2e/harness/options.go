package harness

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// PublicKey is the shared public key services are started with.
const PublicKey = "sk_public_key_for_trials_0123456789"

// Option changes how a service is started.
type Option func(*settings)

type settings struct {
	flags map[string]string // values by name, without dashes
	order []string          // the names, as they are given to the program
	env   []string
	// through is a command that becomes the program: it is followed by the program's
	// name and arguments.
	through []string
	// supervisor keeps the program's sockets; nil for none.
	supervisor *supervisor
}

func defaults(caFile string) *settings {
	s := &settings{flags: map[string]string{}}
	s.set("listen", "127.0.0.1:0")
	s.set("allow-private-targets", "true")
	s.set("target-ports", "1,443,1024-65535") // 1 for jobs whose target is not listening
	s.set("target-ca-file", caFile)
	s.set("public-api-key", PublicKey)
	// Tests come from one address, and share the public account.
	for _, name := range []string{"public-rate-limit", "anonymous-rate-limit", "max-pending", "max-schedules", "max-stored"} {
		s.set(name, "0")
	}
	return s
}

func (s *settings) set(name, value string) {
	if _, known := s.flags[name]; !known {
		s.order = append(s.order, name)
	}
	s.flags[name] = value
}

func (s *settings) args() []string {
	args := []string{"serve"}
	for _, name := range s.order {
		args = append(args, "--"+name+"="+s.flags[name])
	}
	return args
}

// Flag sets a flag of `punctual serve`, named without its dashes.
func Flag(name, value string) Option {
	return func(s *settings) { s.set(name, value) }
}

// NoFlag leaves out a flag that services are started with otherwise.
func NoFlag(name string) Option {
	return func(s *settings) {
		delete(s.flags, name)
		s.order = slices.DeleteFunc(s.order, func(known string) bool { return known == name })
	}
}

// Env adds variables to the environment, each as NAME=value.
func Env(variables ...string) Option {
	return func(s *settings) { s.env = append(s.env, variables...) }
}

// Through starts the program by another command, such as strace -D, whose process
// becomes the program's.
func Through(command ...string) Option {
	return func(s *settings) { s.through = command }
}

// SecretsKey gives the service a new key for secrets, in a file.
func SecretsKey(t testing.TB) Option {
	t.Helper()
	key := Command(t, nil, "secrets", "new-key")
	if key.Code != 0 {
		t.Fatalf("making a key for secrets: %s", key.Stderr)
	}
	file := filepath.Join(t.TempDir(), "secrets.key")
	if err := os.WriteFile(file, []byte(key.Stdout), 0o600); err != nil {
		t.Fatal(err)
	}
	return Flag("secrets-key-file", file)
}

// Database makes the service use an existing database.
func Database(url string) Option { return Flag("database-url", url) }

// CAFile returns the certificate authority that signed the targets' certificate,
// for commands that are not started through a Service.
func CAFile(t testing.TB) string {
	t.Helper()
	ca, err := authority()
	if err != nil {
		t.Fatal(err)
	}
	return ca.file
}
