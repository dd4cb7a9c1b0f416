package crontab

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
)

// tool describes the command line of a program.
type tool struct {
	name    string
	options map[string]option // by long name, without dashes
	short   map[byte]string   // long names by letter
}

// option is what an option does to the request; nil only takes its value.
type option struct {
	takes bool // it has a value
	apply func(r *request, value string) error
}

func ignored(takes bool) option { return option{takes: takes} }

func flag(apply func(r *request)) option {
	return option{apply: func(r *request, _ string) error { apply(r); return nil }}
}

func value(apply func(r *request, v string) error) option { return option{takes: true, apply: apply} }

// parse reads the words after the program's name.
func (t *tool) parse(r *request, words []string) error {
	onlyURLs := false
	for len(words) > 0 {
		word := words[0]
		words = words[1:]
		var err error
		switch {
		case !onlyURLs && word == "--":
			onlyURLs = true
		case !onlyURLs && strings.HasPrefix(word, "--"):
			words, err = t.long(r, word[2:], words)
		case !onlyURLs && len(word) > 1 && word[0] == '-':
			words, err = t.letters(r, word[1:], words)
		default:
			err = setURL(r, word)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func setURL(r *request, text string) error {
	if r.url != "" {
		return errors.New("names more than one url; a schedule sends one request")
	}
	r.url = text
	return nil
}

// long applies an option such as --header, with its value after = or in the
// next word, and returns the remaining words.
func (t *tool) long(r *request, text string, words []string) ([]string, error) {
	name, v, given := strings.Cut(text, "=")
	o, known := t.options[name]
	if !known {
		return nil, fmt.Errorf("uses %s's option --%s, which a schedule has no field for", t.name, shorten(name))
	}
	if o.takes && !given {
		if len(words) == 0 {
			return nil, fmt.Errorf("gives --%s no value", name)
		}
		v, words = words[0], words[1:]
	}
	if o.apply == nil {
		return words, nil
	}
	return words, o.apply(r, v)
}

// letters applies options such as -fsS or -XPOST and returns the remaining
// words.
func (t *tool) letters(r *request, text string, words []string) ([]string, error) {
	for i := 0; i < len(text); i++ {
		name, known := t.short[text[i]]
		if !known {
			return nil, fmt.Errorf("uses %s's option -%c, which a schedule has no field for", t.name, text[i])
		}
		o := t.options[name]
		if o.takes {
			if rest := text[i+1:]; rest != "" {
				return t.long(r, name+"="+rest, words)
			}
			return t.long(r, name, words)
		}
		if o.apply == nil {
			continue
		}
		if err := o.apply(r, ""); err != nil {
			return nil, err
		}
	}
	return words, nil
}

func setHeader(r *request, v string) error {
	name, text, ok := strings.Cut(v, ":")
	name, text = strings.TrimSpace(name), strings.TrimSpace(text)
	if !ok || name == "" || text == "" {
		return fmt.Errorf("has a header that is not written as 'Name: value': %s", shorten(v))
	}
	r.header(name, text)
	return nil
}

// setNamed returns an option that sets the named header.
func setNamed(name string) option {
	return value(func(r *request, v string) error { r.header(name, v); return nil })
}

func setMethod(r *request, v string) error { r.method = v; return nil }

func setTimeout(r *request, v string) error {
	seconds, err := strconv.ParseFloat(v, 64)
	if err != nil || seconds < 0 {
		return fmt.Errorf("has a timeout that is not a number of seconds: %s", shorten(v))
	}
	r.timeout = seconds
	return nil
}

// setRetries takes the number of tries less the given number.
func setRetries(less int) option {
	return value(func(r *request, v string) error {
		n, err := strconv.Atoi(v)
		if err != nil || n < less {
			return fmt.Errorf("has a number of tries that is not a number: %s", shorten(v))
		}
		r.retries = n - less
		return nil
	})
}

func setUser(r *request, v string) error {
	if !strings.Contains(v, ":") {
		return errors.New("gives a user without a password, which the program would ask for")
	}
	r.header("authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(v)))
	return nil
}

func addBody(r *request, v string) error {
	if strings.HasPrefix(v, "@") {
		return errors.New("sends the content of a file; write the body into the line")
	}
	return addRaw(r, v)
}

func addRaw(r *request, v string) error {
	r.body = append(r.body, v)
	return nil
}

// addEncoded reads curl's --data-urlencode: content, =content or name=content.
func addEncoded(r *request, v string) error {
	name, content, named := strings.Cut(v, "=")
	if !named {
		name, content = "", v
	}
	if strings.Contains(name, "@") || !named && strings.Contains(v, "@") {
		return errors.New("sends the content of a file; write the body into the line")
	}
	content = strings.ReplaceAll(url.QueryEscape(content), "+", "%20")
	if name != "" {
		content = name + "=" + content
	}
	return addRaw(r, content)
}

func addCookie(r *request, v string) error {
	if !strings.Contains(v, "=") {
		return errors.New("reads cookies from a file; write them as name=value")
	}
	r.header("cookie", v)
	return nil
}
