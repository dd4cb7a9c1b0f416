package postgres

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/punctual-dev/punctual/test/pace"
)

// observed is a store whose server reports the plan of every statement with what
// each of its nodes has read.
type observed struct {
	*Store
	mu    sync.Mutex
	plans map[string]bool // as the server wrote them
}

// observedPlan is what auto_explain reports of a statement.
type observedPlan struct {
	Text string   `json:"Query Text"`
	Plan planNode `json:"Plan"`
}

// planNode is a node of a plan. Counts are averages of its loops, blocks are totals
// that include those of its children.
type planNode struct {
	Type       string     `json:"Node Type"`
	Relation   string     `json:"Relation Name"`
	Index      string     `json:"Index Name"`
	Rows       int        `json:"Actual Rows"`
	Loops      int        `json:"Actual Loops"`
	Filtered   int        `json:"Rows Removed by Filter"`
	Joined     int        `json:"Rows Removed by Join Filter"`
	Rechecked  int        `json:"Rows Removed by Index Recheck"`
	HitBlocks  int        `json:"Shared Hit Blocks"`
	ReadBlocks int        `json:"Shared Read Blocks"`
	Plans      []planNode `json:"Plans"`
}

// observe opens the store of a database as a superuser.
func observe(t testing.TB, url string) *observed {
	t.Helper()
	config, err := configure(url)
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{
		"session_preload_libraries": "auto_explain", "auto_explain.log_min_duration": "0", "auto_explain.log_analyze": "on",
		"auto_explain.log_buffers": "on",
		"auto_explain.log_timing":  "off", "auto_explain.log_format": "json", "auto_explain.log_level": "notice",
		"auto_explain.log_nested_statements": "on",
	} {
		config.ConnConfig.RuntimeParams[name] = value
	}
	o := &observed{plans: map[string]bool{}}
	config.ConnConfig.OnNotice = func(_ *pgconn.PgConn, n *pgconn.Notice) { o.note(n.Message) }
	if o.Store, err = openWith(t.Context(), config, url, Options{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = o.Close() })
	return o
}

// note keeps a plan for take, so that the call under way does not wait for its parsing. A
// call has thousands of equal plans: of triggers, one for each row.
func (o *observed) note(message string) {
	if _, plan, isPlan := strings.Cut(message, "plan:\n"); isPlan {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.plans[plan] = true
	}
}

// take returns the different plans since the last call.
func (o *observed) take() []observedPlan {
	o.mu.Lock()
	taken := o.plans
	o.plans = map[string]bool{}
	o.mu.Unlock()
	var plans []observedPlan
	for raw := range taken {
		var p observedPlan
		if err := json.Unmarshal([]byte(raw), &p); err != nil {
			p.Text = fmt.Sprintf("a plan that can't be read: %v", err)
		}
		plans = append(plans, p)
	}
	return plans
}

// work is what a plan has done.
type work struct {
	rows   int // that its nodes have returned or dropped
	lookup int // by how much the blocks of its scans exceed those of lookups
}

// blocksOfLookup bounds the blocks that a scan by an index reads for each loop and
// each row: the levels of the index, and the row.
const blocksOfLookup = 6

func (n *planNode) work() work {
	w := work{rows: n.Loops * (n.Rows + n.Filtered + n.Joined + n.Rechecked)}
	if len(n.Plans) == 0 && n.Relation != "" {
		w.lookup = max(0, n.HitBlocks+n.ReadBlocks-blocksOfLookup*n.Loops*(1+n.Rows+n.Filtered))
	}
	for i := range n.Plans {
		child := n.Plans[i].work()
		w.rows, w.lookup = w.rows+child.rows, w.lookup+child.lookup
	}
	return w
}

// outline shows a plan, a line for each node.
func (n *planNode) outline(indent string) string {
	line := fmt.Sprintf("%s%s %s %s: %d loops, %d rows, %d filtered, %d joined, %d blocks\n",
		indent, n.Type, n.Relation, n.Index, n.Loops, n.Rows, n.Filtered, n.Joined, n.HitBlocks+n.ReadBlocks)
	for i := range n.Plans {
		line += n.Plans[i].outline(indent + "  ")
	}
	return line
}

// triedFor is how long a call is tried: a statement that reads far too much is always
// too slow.
const triedFor = 2 * time.Minute

// try runs a call, again if a loaded machine was too slow for it.
func (d *dealt) try(o operationOf) (err error) {
	for began := time.Now(); time.Since(began) < pace.Limit(triedFor); {
		d.tries++
		if _, err = d.NodeHeartbeat(d.t.Context(), d.node); err != nil {
			continue
		}
		d.take()
		if err = o.run(d); err == nil {
			return nil
		}
	}
	return err
}

// constantAccount matches a comparison of an account with a value that the planner
// knows.
var constantAccount = regexp.MustCompile(`\baccount = \$\d`)

// TestStatements_DoBoundedWork runs the calls of the store at their bounds, where
// the statistics of the planner don't know the account, and counts what each
// statement reads. Sessions that planned the statements while the tables were empty
// plan them again.
func TestStatements_DoBoundedWork(t *testing.T) {
	statements := map[string]bool{}
	for _, c := range []struct {
		name         string
		others, ours int
	}{
		{"NoStatistics", 0, 2500},
		{"StatisticsOfAFew", 60, 2500},
		{"StatisticsOfMany", 4000, 2500},
	} {
		t.Run(c.name, func(t *testing.T) {
			deal(t, c.others, c.ours).doBoundedWork(statements)
		})
	}
	t.Run("PlansOfEmptyTables", func(t *testing.T) { dealLate(t, statements, 2500).doBoundedWork(map[string]bool{}) })
}

// doBoundedWork tests all calls, and notes their statements.
func (d *dealt) doBoundedWork(statements map[string]bool) {
	for _, operations := range [][]operationOf{changing, firing, removing, looking} {
		for _, o := range operations {
			if err := d.try(o); err != nil {
				d.t.Errorf("%s: %v", o.name, err)
			}
			for _, p := range d.take() {
				statements[p.Text] = true
				if constantAccount.MatchString(p.Text) {
					d.t.Errorf("%s: compare the account with (SELECT $1::bigint), not with $1, so that the planner does not take it for empty:\n%s", o.name, p.Text)
				}
				w := p.Plan.work()
				if w.rows > 40*o.n+400 || w.lookup > 10*o.n+100 {
					d.t.Errorf("%s: %d rows, %d blocks beyond lookups, for %d records:\n%s\n%s", o.name, w.rows, w.lookup, o.n,
						short(p.Text), p.Plan.outline("  "))
				}
			}
		}
	}
}
