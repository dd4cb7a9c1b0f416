package bench

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	// stopLimit is how long a process may take to stop before it is made to.
	stopLimit = 10 * time.Second
	// variablePrefix begins the names of the variables that a service reads
	// its settings from. Those of the bench's caller must not reach it.
	variablePrefix = "PUNCTUAL_"
	// lineBytes is the longest line of a program that is read: the paths of as
	// many jobs as a bench may create at once.
	lineBytes = 64 << 20
)

// process is a program that the bench has started.
type process struct {
	command *exec.Cmd
	stdin   io.WriteCloser
	lines   chan string // of its standard output
	errors  tail        // of its standard error
	ended   chan struct{}
	status  error // once it has ended
}

// startProcess starts a program and reads its first line.
func startProcess(ctx context.Context, program string, limit time.Duration, args ...string) (p *process, line string, err error) {
	p = &process{command: exec.Command(program, args...), lines: make(chan string, 16), ended: make(chan struct{})}
	p.command.Stderr = &p.errors
	for _, entry := range os.Environ() {
		if !strings.HasPrefix(entry, variablePrefix) {
			p.command.Env = append(p.command.Env, entry)
		}
	}
	out, err := p.command.StdoutPipe()
	if err != nil {
		return nil, "", err
	}
	if p.stdin, err = p.command.StdinPipe(); err != nil {
		return nil, "", err
	}
	if err := p.command.Start(); err != nil {
		return nil, "", err
	}
	go p.follow(out)
	if line, err = p.line(ctx, limit); err != nil {
		p.kill()
		return nil, "", err
	}
	return p, line, nil
}

// follow reads what the program prints, and its status when it has ended.
func (p *process) follow(out io.Reader) {
	scanner := bufio.NewScanner(out)
	scanner.Buffer(nil, lineBytes)
	for scanner.Scan() {
		select {
		case p.lines <- scanner.Text():
		default: // more lines than anybody reads
		}
	}
	p.status = p.command.Wait()
	close(p.ended)
}

// line reads the next line that the program prints.
func (p *process) line(ctx context.Context, limit time.Duration) (string, error) {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case line := <-p.lines:
		return line, nil
	case <-ctx.Done():
		return "", ctx.Err()
	case <-timer.C:
		return "", fmt.Errorf("it gave no sign within %s%s", limit, p.errors.said())
	case <-p.ended:
	}
	select {
	case line := <-p.lines: // its last words
		return line, nil
	default:
		return "", fmt.Errorf("it ended%s", p.errors.said())
	}
}

// stop ends the program in order, or by force when that takes too long. An
// error says that it went wrong.
func (p *process) stop() error {
	select {
	case <-p.ended:
		return fmt.Errorf("it had ended by itself%s", p.errors.said())
	default:
	}
	// Where a program can't be asked to stop, it is made to.
	if p.command.Process.Signal(syscall.SIGTERM) != nil {
		p.kill()
		return nil
	}
	timer := time.NewTimer(stopLimit)
	defer timer.Stop()
	select {
	case <-p.ended:
		if p.status != nil {
			return fmt.Errorf("it stopped with %w%s", p.status, p.errors.said())
		}
		return nil
	case <-timer.C:
		p.kill()
		return fmt.Errorf("it did not stop within %s%s", stopLimit, p.errors.said())
	}
}

// kill ends the program at once and waits until it is gone.
func (p *process) kill() {
	_ = p.command.Process.Kill() // it may have ended already
	<-p.ended
}

// finish lets a process end that does so with its input.
func (p *process) finish() error {
	_ = p.stdin.Close()
	timer := time.NewTimer(stopLimit)
	defer timer.Stop()
	select {
	case <-p.ended:
		return p.status
	case <-timer.C:
		p.kill()
		return errors.New("the process did not end")
	}
}

// cpu is how much processor time a program took that has ended.
func (p *process) cpu() time.Duration {
	return p.command.ProcessState.UserTime() + p.command.ProcessState.SystemTime()
}

// tail keeps the end of what is written to it.
type tail struct {
	mu   sync.Mutex
	text []byte
}

const tailBytes = 4096

// Write implements io.Writer.
func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, b...)
	if len(t.text) > tailBytes {
		t.text = append(t.text[:0], t.text[len(t.text)-tailBytes:]...)
	}
	return len(b), nil
}

// last returns the last line.
func (t *tail) last() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	text := strings.TrimSpace(string(t.text))
	return text[strings.LastIndexByte(text, '\n')+1:]
}

func (t *tail) said() string {
	if last := t.last(); last != "" {
		return "; it said: " + last
	}
	return ""
}

// errGone means that a program ended that should still run.
var errGone = errors.New("the service has ended by itself")
