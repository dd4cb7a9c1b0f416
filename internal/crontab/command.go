package crontab

import (
	"errors"
	"fmt"
	"path"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/punctual-dev/punctual/internal/rawjson"
)

// MaxCommand is the maximum length of a command for Request, in bytes.
const MaxCommand = 32 << 10

// Request returns the fields of a job that sends the request of one curl or wget command,
// as browsers copy it: method, url, headers, body and the like. Nothing is evaluated:
// variables, braces outside quotes and the like are refused. The text of its error
// completes "Command …".
func Request(command string) ([]rawjson.Member, error) {
	command = strings.TrimPrefix(strings.TrimSpace(strings.ReplaceAll(command, "\r\n", "\n")), "$ ")
	if command == "" {
		return nil, errors.New("is empty")
	}
	if len(command) > MaxCommand {
		return nil, fmt.Errorf("has more than %d KiB", MaxCommand>>10)
	}
	if name := path.Base(strings.Fields(command)[0]); name != "curl" && name != "wget" {
		return nil, fmt.Errorf("runs %s; it must begin with curl or wget", shorten(name))
	}
	if err := onlyFlat(command); err != nil {
		return nil, err
	}
	p := parser{literal: true}
	words, err := p.simpleWords(command)
	if err != nil {
		return nil, err
	}
	r, err := read(words)
	if err != nil {
		return nil, err
	}
	return r.members(), nil
}

var (
	errEvaluated = errors.New("has a part that only a shell can evaluate; write what it results in")
	errBraces    = errors.New("has braces outside quotes, which a shell would expand; put them in quotes")
	errAmpersand = errors.New("has an & outside quotes, where it would end the command; put the url in quotes")
)

// onlyFlat returns why a command has nested parts or several commands; nil if it is one
// flat list of words. The parser of shell commands takes quadratic time for nested ones.
func onlyFlat(command string) error {
	quote := byte(0) // ', ", $ for $'…' or 0
	for i := 0; i < len(command); i++ {
		c, next := command[i], byte(0)
		if i+1 < len(command) {
			next = command[i+1]
		}
		var err error
		switch {
		case quote == '\'':
			if c == '\'' {
				quote = 0
			}
		case c == '\\':
			i++
		case quote == '$':
			if c == '\'' {
				quote = 0
			}
		case quote == '"' && c == '"':
			quote = 0
		case c == '`', c == '$' && (next == '(' || next == '{' || next == '['):
			err = errEvaluated
		case quote == '"':
		default:
			quote, err = unquoted(c, next)
			if quote == '$' {
				i++
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// unquoted returns the quote that a byte outside quotes begins, or why it is refused.
func unquoted(c, next byte) (quote byte, err error) {
	switch c {
	case '\'', '"':
		return c, nil
	case '$':
		if next == '\'' {
			return '$', nil
		}
	case '(', ')':
		return 0, errEvaluated
	case '{', '}':
		return 0, errBraces
	case '&':
		return 0, errAmpersand
	case ';', '|', '\n':
		return 0, errSeveral
	}
	return 0, nil
}

// onlyLiteral returns why a command has variables or other parts that a shell would
// evaluate; nil if it has none.
func onlyLiteral(call *syntax.CallExpr) (err error) {
	for _, word := range call.Args {
		syntax.Walk(word, func(node syntax.Node) bool {
			switch n := node.(type) {
			case nil, *syntax.Word, *syntax.Lit, *syntax.SglQuoted, *syntax.DblQuoted:
				return err == nil
			case *syntax.ParamExp:
				err = errEvaluated
				if n.Param != nil {
					err = fmt.Errorf("uses the variable %s; write its value instead", shorten(n.Param.Value))
				}
			default:
				err = errEvaluated
			}
			return false
		})
	}
	return err
}
