package retry

import (
	"errors"
	"fmt"
	"hash/maphash"
	"math"
	"strings"
	"sync/atomic"
	"time"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/parser"
	"github.com/expr-lang/expr/vm"
)

// Bounds of an expression.
const (
	// MaxExpression is its greatest length in bytes.
	MaxExpression = 255
	maxNodes      = 64
	// LongestDelay is the longest wait that an expression can yield; longer ones are cut.
	LongestDelay = 24 * time.Hour
)

// retried is the variable of expressions: how often a job has been retried, so 0
// before the first retry.
const retried = "retried"

// Expression computes how long to wait before a retry, in milliseconds.
type Expression struct{ program *vm.Program }

// functions has the functions of expressions with how many arguments they take.
var functions = map[string]struct {
	arguments int
	apply     func(a, b float64) float64
}{
	"pow": {2, math.Pow}, "min": {2, math.Min}, "max": {2, math.Max},
	"sqrt": {1, one(math.Sqrt)}, "abs": {1, one(math.Abs)}, "exp": {1, one(math.Exp)},
	"floor": {1, one(math.Floor)}, "ceil": {1, one(math.Ceil)}, "round": {1, one(math.Round)},
}

func one(f func(float64) float64) func(a, b float64) float64 {
	return func(a, _ float64) float64 { return f(a) }
}

// options has what expressions may name. Built-in functions are off, of which some loop.
var options = func() []expr.Option {
	all := []expr.Option{
		expr.Env(map[string]any{retried: 0.0}), expr.AsFloat64(), expr.DisableAllBuiltins(),
		expr.MaxNodes(maxNodes), expr.Optimize(false),
	}
	for name, f := range functions {
		call := func(given ...any) (any, error) {
			a, b := given[0].(float64), 0.0
			if f.arguments == 2 {
				b = given[1].(float64)
			}
			return f.apply(a, b), nil
		}
		if f.arguments == 2 {
			all = append(all, expr.Function(name, call, new(func(float64, float64) float64)))
		} else {
			all = append(all, expr.Function(name, call, new(func(float64) float64)))
		}
	}
	return all
}()

var errExpression = errors.New("must be an expression of numbers, retried, + - * / ** and the functions " +
	"pow, sqrt, abs, exp, floor, ceil, round, min and max, " +
	"as in pow(2, retried) * 1000")

// parsed remembers the latest expressions, each at the place that its hash names: most
// jobs of a queue have the same one, and compiling it takes longer than the rest of
// reading a job. It is shared by all accounts, since an expression depends on nothing but
// its text.
var (
	parsed [256]atomic.Pointer[remembered]
	seed   = maphash.MakeSeed()
)

type remembered struct {
	text string
	*Expression
}

// ParseExpression reads an expression, as in "pow(2, retried) * 1000". It evaluates in a
// time that its length bounds: it has no loops.
func ParseExpression(text string) (*Expression, error) {
	if len(text) > MaxExpression {
		return nil, fmt.Errorf("must be at most %d bytes long", MaxExpression)
	}
	place := &parsed[maphash.String(seed, text)%uint64(len(parsed))]
	if known := place.Load(); known != nil && known.text == text {
		return known.Expression, nil
	}
	e, err := compile(text)
	if err != nil {
		return nil, err
	}
	place.Store(&remembered{strings.Clone(text), e})
	return e, nil
}

func compile(text string) (*Expression, error) {
	tree, err := parser.Parse(text)
	if err != nil {
		return nil, errExpression
	}
	check := &checker{}
	ast.Walk(&tree.Node, check)
	if check.refused {
		return nil, errExpression
	}
	program, err := expr.Compile(text, append([]expr.Option{expr.Patch(floats{})}, options...)...)
	if err != nil {
		return nil, errExpression
	}
	return &Expression{program}, nil
}

// checker refuses everything but arithmetic.
type checker struct{ refused bool }

func (c *checker) Visit(node *ast.Node) {
	switch n := (*node).(type) {
	case *ast.IntegerNode, *ast.FloatNode, *ast.BuiltinNode:
	case *ast.IdentifierNode:
		_, function := functions[n.Value]
		c.refused = c.refused || n.Value != retried && !function
	case *ast.UnaryNode:
		c.refused = c.refused || n.Operator != "-" && n.Operator != "+"
	case *ast.BinaryNode:
		switch n.Operator {
		case "+", "-", "*", "/", "**", "^":
		default:
			c.refused = true
		}
	case *ast.CallNode:
		_, named := n.Callee.(*ast.IdentifierNode)
		c.refused = c.refused || !named
	default:
		c.refused = true
	}
}

// floats makes all numbers floating-point ones, which don't overflow.
type floats struct{}

func (floats) Visit(node *ast.Node) {
	if n, ok := (*node).(*ast.IntegerNode); ok {
		ast.Patch(node, &ast.FloatNode{Value: float64(n.Value)})
	}
}

// Delay returns how long to wait after a failed attempt, counted from 1: from 0 to
// LongestDelay. ok is false if the result is no number.
func (e *Expression) Delay(attempt int) (wait time.Duration, ok bool) {
	result, err := vm.Run(e.program, map[string]any{retried: float64(max(attempt, 1) - 1)})
	milliseconds, isNumber := result.(float64)
	if err != nil || !isNumber || math.IsNaN(milliseconds) {
		return 0, false
	}
	milliseconds = math.Min(math.Max(milliseconds, 0), float64(LongestDelay.Milliseconds()))
	return time.Duration(milliseconds * float64(time.Millisecond)).Truncate(time.Millisecond), true
}
