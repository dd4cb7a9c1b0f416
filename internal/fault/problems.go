package fault

import (
	"errors"
	"strconv"
	"strings"
	"unicode/utf8"
)

const (
	// MaxProblems is how many problems a fault lists; it counts the
	// others.
	MaxProblems = 100

	// MaxDetail is how long a problem's detail, pointer and parameter may each
	// be, in bytes. A longer detail or parameter is cut.
	MaxDetail = 500
)

// Problems collects what is wrong with a request: the first MaxProblems, and
// how many more there are. The zero value is ready for use.
type Problems struct {
	list []Problem
	more int
}

// Add notes a problem.
func (p *Problems) Add(problem Problem) {
	if p.Full() {
		p.more++
		return
	}
	problem.Detail, problem.Parameter = shorten(problem.Detail), shorten(problem.Parameter)
	p.list = append(p.list, problem)
}

// AddElement notes what the fault err says of an element of a list, with pointers
// that begin with the element's index.
func (p *Problems) AddElement(index int, err error) { p.AddAt("#/"+strconv.Itoa(index), err) }

// AddElementOf notes what the fault err says of an element of the list in a field; nil
// says nothing.
func (p *Problems) AddElementOf(field string, index int, err error) {
	if err != nil {
		p.AddAt("#/"+field+"/"+strconv.Itoa(index), err)
	}
}

// AddAt notes what the fault err says of a part, with pointers that begin with at.
func (p *Problems) AddAt(at string, err error) {
	problems := ProblemsOf(err)
	if len(problems) == 0 {
		var f *Error
		detail := "can't be read"
		if errors.As(err, &f) {
			detail = f.Message
		}
		p.Add(Problem{Pointer: at, Detail: detail})
		return
	}
	for _, problem := range problems {
		problem.Pointer = at + strings.TrimPrefix(problem.Pointer, "#")
		p.Add(problem)
	}
	p.more += MoreOf(err)
}

// Full reports whether no further problem is listed, so that nobody need
// describe one.
func (p *Problems) Full() bool { return len(p.list) >= MaxProblems }

// Len returns how many problems were noted, listed or not.
func (p *Problems) Len() int { return len(p.list) + p.more }

// Err returns an Invalid fault with the problems; nil when there are none.
func (p *Problems) Err() error {
	if len(p.list) == 0 {
		return nil
	}
	sentences := make([]string, 0, len(p.list)+1)
	for _, problem := range p.list {
		sentences = append(sentences, problem.Sentence())
	}
	switch {
	case p.more == 1:
		sentences = append(sentences, "and 1 more problem")
	case p.more > 1:
		sentences = append(sentences, "and "+strconv.Itoa(p.more)+" more problems")
	}
	return &Error{Code: Invalid, Message: strings.Join(sentences, "; "), Problems: p.list, More: p.more}
}

// Refuse makes an Invalid fault from the problems found; nil when there are none.
func Refuse(problems []Problem) error {
	var p Problems
	for _, problem := range problems {
		p.Add(problem)
	}
	return p.Err()
}

// shorten cuts text to MaxDetail bytes, between code points.
func shorten(text string) string {
	if len(text) <= MaxDetail {
		return text
	}
	const mark = "…"
	end := MaxDetail - len(mark)
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + mark
}
