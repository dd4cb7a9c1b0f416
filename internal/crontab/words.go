package crontab

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// words returns the words of the command, as bash passes them to a program: what
// other shells read differently, such as &>, does not change the request.
//
// A sleep of a random time before the command becomes jitter, in seconds. flock is left
// out, because runs of one schedule never overlap.
func (p *parser) words(command string) (words []string, jitter int, err error) {
	if command, err = unescape(command); err != nil {
		return nil, 0, err
	}
	return p.shell(command)
}

// shell is words for a command without escapes of a crontab.
func (p *parser) shell(command string) (words []string, jitter int, err error) {
	if m := randomSleep.FindStringSubmatch(command); m != nil {
		if jitter, err = strconv.Atoi(m[1]); err != nil {
			return nil, 0, errors.New("sleeps for too long before the request")
		}
		command = m[2]
	}
	if words, err = p.simpleWords(command); err != nil {
		return nil, 0, err
	}
	if path.Base(words[0]) != "flock" {
		return words, jitter, nil
	}
	words, inner, err := unlocked(words[1:])
	if err == nil && inner != "" {
		words, err = p.simpleWords(inner)
	}
	return words, jitter, err
}

// randomSleep matches a random sleep before a command.
var randomSleep = regexp.MustCompile(`^\s*(?:/usr)?(?:/bin/)?sleep\s+"?\$\(\(\s*\$?RANDOM\s*%\s*([0-9]{1,5})\s*\)\)s?"?\s*(?:;|&&)\s*(.*)$`)

// unlocked returns the command that flock runs, as words or as the text for a shell.
func unlocked(words []string) (rest []string, shell string, err error) {
	for i := 0; i < len(words); i++ {
		switch word := words[i]; {
		case word == "-w" || word == "-E" || word == "--timeout" || word == "--conflict-exit-code":
			i++
		case strings.HasPrefix(word, "-"):
		default: // the file
			rest = words[i+1:]
			if len(rest) == 2 && (rest[0] == "-c" || rest[0] == "--command") {
				return nil, rest[1], nil
			}
			if len(rest) == 0 {
				return nil, "", errors.New("runs flock without a command")
			}
			return rest, "", nil
		}
	}
	return nil, "", errors.New("runs flock without a file")
}

// simpleWords returns the words of a simple command.
func (p *parser) simpleWords(command string) ([]string, error) {
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(command), "")
	if err != nil {
		return nil, fmt.Errorf("can't be read as a shell command: %s", strings.TrimSpace(err.Error()))
	}
	if len(file.Stmts) != 1 {
		return nil, errSeveral
	}
	call, err := simple(file.Stmts[0])
	if err != nil {
		return nil, err
	}
	if p.literal {
		if err := onlyLiteral(call); err != nil {
			return nil, err
		}
	}
	words, err := expand.Fields(&expand.Config{Env: expand.FuncEnviron(p.variable), NoUnset: true}, call.Args...)
	var unset expand.UnsetParameterError
	var substituted expand.UnexpectedCommandError
	switch {
	case errors.As(err, &unset):
		return nil, fmt.Errorf("uses the variable %s, which the crontab doesn't set", unset.Node.Param.Value)
	case errors.As(err, &substituted):
		return nil, errors.New("uses the output of another command, which only a shell can run")
	case err != nil:
		return nil, fmt.Errorf("can't be evaluated: %w", err)
	case len(words) == 0:
		return nil, errors.New("has no command")
	}
	return words, nil
}

var errSeveral = errors.New("runs more than one command; a schedule sends one request")

// variable returns the value of a variable that the crontab sets, or "".
func (p *parser) variable(name string) string { return p.variables[name] }

// unescape replaces \% by %. An unescaped % ends the command; what follows is
// its standard input.
func unescape(command string) (string, error) {
	var b strings.Builder
	for i := 0; i < len(command); i++ {
		switch {
		case command[i] == '\\' && i+1 < len(command) && command[i+1] == '%':
			b.WriteByte('%')
			i++
		case command[i] == '%':
			return "", errors.New("passes standard input after a %; give the body with -d, and write % as \\%")
		default:
			b.WriteByte(command[i])
		}
	}
	return b.String(), nil
}

// simple returns the one command of a statement. It ignores where output goes
// and a final "|| true" or "|| echo TEXT".
func simple(s *syntax.Stmt) (*syntax.CallExpr, error) {
	for _, r := range s.Redirs {
		switch r.Op {
		case syntax.RdrOut, syntax.AppOut, syntax.DplOut, syntax.RdrAll, syntax.AppAll, syntax.RdrClob:
		default:
			return nil, errors.New("reads its standard input; give the body with -d")
		}
	}
	switch c := s.Cmd.(type) {
	case *syntax.CallExpr:
		if len(c.Assigns) > 0 {
			return nil, errors.New("sets a variable for the command; set it on a line of its own")
		}
		return c, nil
	case *syntax.BinaryCmd:
		if right, ok := c.Y.Cmd.(*syntax.CallExpr); ok && c.Op == syntax.OrStmt && len(right.Args) > 0 && len(right.Assigns) == 0 {
			name := right.Args[0].Lit()
			if len(right.Args) == 1 && (name == "true" || name == ":") || name == "echo" && onlyLiteral(right) == nil {
				return simple(c.X)
			}
		}
	}
	return nil, errSeveral
}
