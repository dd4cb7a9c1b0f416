package disk

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
)

// call is a system call as strace has recorded it, with the options that record uses.
type call struct {
	name string
	// path is the file that the call is about: that of its descriptor, or the last
	// name among its arguments.
	path  string
	data  []byte // of a write
	flags string // of an open
	ints  []int64
	ret   int64
	// killed is whether the process was killed during the call.
	killed bool
	// begun and ended are when the call entered and left the kernel.
	begun, ended time.Time
}

// event is the beginning or the end of a call, in the order of the record.
type event struct {
	call *call
	end  bool
}

// readTrace reads the record of strace: the beginnings and ends of calls in order, and
// the calls of which nobody knows how far they came, because the process was killed.
func readTrace(r io.Reader) (events []event, cutOff []*call, err error) {
	lines := bufio.NewReader(r)
	open := map[string]*pending{} // by thread
	for n := 1; ; n++ {
		line, err := lines.ReadString('\n')
		if err != nil && err != io.EOF {
			return nil, nil, err
		}
		if text := strings.TrimSuffix(line, "\n"); text != "" {
			found, problem := readLine(text, open)
			if problem != nil {
				return nil, nil, fmt.Errorf("line %d: %w", n, problem)
			}
			events = append(events, found...)
		}
		if err == io.EOF {
			break
		}
	}
	for _, p := range open {
		if _, err := p.call.read(strings.TrimRight(p.text, " ") + ") = ?"); err != nil {
			return nil, nil, err
		}
	}
	events = slices.DeleteFunc(events, func(e event) bool {
		if !e.call.killed {
			return false
		}
		if !slices.Contains(cutOff, e.call) {
			cutOff = append(cutOff, e.call)
		}
		return true
	})
	return events, cutOff, nil
}

// pending is a call of which only the beginning has been read.
type pending struct {
	text string
	call *call
}

// readLine reads a line: "THREAD TIME CALL". A call that other threads' calls
// interrupt has two lines: "… <unfinished ...>" and "<... NAME resumed>…".
func readLine(line string, open map[string]*pending) ([]event, error) {
	thread, rest, _ := strings.Cut(line, " ")
	stamp, text, found := strings.Cut(strings.TrimLeft(rest, " "), " ")
	if !found {
		return nil, fmt.Errorf("not a line of strace: %.80q", line)
	}
	at, err := readStamp(stamp)
	if err != nil {
		return nil, err
	}
	switch {
	case strings.HasPrefix(text, "+++ "), strings.HasPrefix(text, "--- "):
		return nil, nil
	case strings.HasSuffix(text, "<unfinished ...>"):
		c := &call{begun: at}
		open[thread] = &pending{text: strings.TrimSuffix(text, "<unfinished ...>"), call: c}
		return []event{{call: c}}, nil
	case strings.HasPrefix(text, "<... "):
		begun := open[thread]
		_, after, found := strings.Cut(text, " resumed>")
		if begun == nil || !found {
			return nil, fmt.Errorf("a call resumes that has not begun: %.80q", line)
		}
		delete(open, thread)
		begun.call.ended = at
		_, err := begun.call.read(strings.TrimRight(begun.text, " ") + after)
		return []event{{call: begun.call, end: true}}, err
	}
	c := &call{begun: at}
	spent, err := c.read(text)
	c.ended = at.Add(spent)
	return []event{{call: c}, {call: c, end: true}}, err
}

// readStamp reads seconds since 1970 with a fraction.
func readStamp(text string) (time.Time, error) {
	seconds, fraction, _ := strings.Cut(text, ".")
	s, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("not a time: %.40q", text)
	}
	us, err := strconv.ParseInt(fraction, 10, 64)
	if err != nil || len(fraction) != 6 {
		return time.Time{}, fmt.Errorf("not a time: %.40q", text)
	}
	return time.UnixMicro(s*1e6 + us), nil
}

// read reads "NAME(ARGUMENT, …) = RESULT … <SECONDS>" and returns the seconds. All texts
// are in hexadecimal digits, so none contains a comma or a parenthesis.
func (c *call) read(text string) (spent time.Duration, err error) {
	wrong := fmt.Errorf("not a system call: %.80q … %q", text, text[max(0, len(text)-80):])
	text = strings.ReplaceAll(text, " <unfinished ...>) = ?", ") = ?")     // killed meanwhile
	if before, found := strings.CutSuffix(text, "<detached ...>"); found { // killed before strace could look
		arguments, _, _ := strings.Cut(before, ")")
		text = strings.TrimRight(arguments, " ") + ") = ?"
	}
	name, rest, found := strings.Cut(text, "(")
	arguments, result, ended := strings.Cut(rest, ")")
	if !found || !ended {
		return 0, wrong
	}
	c.name = name
	for argument := range strings.SplitSeq(arguments, ", ") {
		if err := c.argument(strings.TrimSpace(argument)); err != nil {
			return 0, err
		}
	}
	_, result, found = strings.Cut(result, "= ")
	if !found {
		return 0, wrong
	}
	end := strings.IndexAny(result, " <")
	if end < 0 {
		end = len(result)
	}
	if result[:end] == "?" {
		c.killed = true
	} else if c.ret, err = strconv.ParseInt(result[:end], 10, 64); err != nil {
		return 0, wrong
	}
	if at := strings.LastIndex(result, " <"); at >= 0 && strings.HasSuffix(result, ">") {
		seconds, err := strconv.ParseFloat(result[at+2:len(result)-1], 64)
		if err == nil {
			spent = time.Duration(seconds * float64(time.Second))
		}
	}
	return spent, nil
}

// argument reads an argument: a text, a descriptor with its path, a number or flags.
func (c *call) argument(text string) error {
	switch {
	case text == "":
		return nil
	case strings.HasPrefix(text, `"`):
		if !strings.HasSuffix(text, `"`) || len(text) < 2 {
			return fmt.Errorf("a text was cut off: %.80q", text)
		}
		value, err := unhex(text[1 : len(text)-1])
		if err != nil {
			return err
		}
		if strings.HasPrefix(c.name, "pwrite") || c.name == "write" {
			c.data = value
		} else {
			c.path = string(value)
		}
	case strings.HasSuffix(text, ">") && strings.Contains(text, "<"):
		_, path, _ := strings.Cut(strings.TrimSuffix(text, ">"), "<")
		value, err := unhex(path)
		if err != nil {
			return err
		}
		c.path = string(value)
	case strings.HasPrefix(text, "O_"):
		c.flags = text
	default:
		if n, err := strconv.ParseInt(text, 0, 64); err == nil {
			c.ints = append(c.ints, n)
		}
	}
	return nil
}

// unhex reads "\x2f\x74…".
func unhex(text string) ([]byte, error) {
	if len(text)%4 != 0 {
		return nil, fmt.Errorf("not a text in hexadecimal digits: %.40q", text)
	}
	value := make([]byte, 0, len(text)/4)
	for i := 0; i < len(text); i += 4 {
		n, err := strconv.ParseUint(text[i+2:i+4], 16, 8)
		if err != nil || text[i:i+2] != `\x` {
			return nil, fmt.Errorf("not a text in hexadecimal digits: %.40q", text[i:])
		}
		value = append(value, byte(n))
	}
	return value, nil
}
