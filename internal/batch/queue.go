package batch

// quantum is how many bytes an account may add to an operation at each turn,
// overhead what an item costs beside its own size.
const (
	quantum  = 16 << 10
	overhead = 256
)

// queue holds waiting items by account. Accounts take turns by deficit round
// robin: each gets a credit of quantum bytes per turn and saves up for a larger
// item. An account's own items keep their order.
type queue[In, Out any] struct {
	accounts map[int64]*line[In, Out]
	turns    []*line[In, Out] // in order of their turns
	count    int
	bytes    int
}

// line is the waiting items of one account.
type line[In, Out any] struct {
	account int64
	items   []item[In, Out]
	bytes   int
	credit  int // bytes that it may still take
}

func (q *queue[In, Out]) push(account int64, one item[In, Out]) {
	l := q.accounts[account]
	if l == nil {
		if q.accounts == nil {
			q.accounts = map[int64]*line[In, Out]{}
		}
		l = &line[In, Out]{account: account}
		q.accounts[account] = l
		q.turns = append(q.turns, l)
	}
	l.items = append(l.items, one)
	l.bytes += one.size
	q.bytes += one.size
	q.count++
}

// of returns how many items and bytes of an account wait.
func (q *queue[In, Out]) of(account int64) (count, bytes int) {
	if l := q.accounts[account]; l != nil {
		return len(l.items), l.bytes
	}
	return 0, 0
}

// take removes the next items, up to limit of them and up to maxBytes, or one
// larger item alone. A maxBytes of 0 is no bound. It returns nil if none wait.
func (q *queue[In, Out]) take(limit, maxBytes int) []item[In, Out] {
	var taken []item[In, Out]
	bytes := 0
	for len(q.turns) > 0 && len(taken) < limit {
		l := q.turns[0]
		cost := l.items[0].size + overhead
		if l.credit < cost {
			l.credit += quantum
			if len(q.turns) > 1 {
				q.turns = append(q.turns[1:], l)
			}
			continue
		}
		if len(taken) > 0 && maxBytes > 0 && bytes+l.items[0].size > maxBytes {
			break // it is first in the next operation
		}
		bytes += l.items[0].size
		l.credit -= cost
		taken = append(taken, q.pop(l))
	}
	return taken
}

// pop removes the first item of the account whose turn it is.
func (q *queue[In, Out]) pop(l *line[In, Out]) item[In, Out] {
	one := l.items[0]
	l.items[0] = item[In, Out]{}
	l.items = l.items[1:]
	l.bytes -= one.size
	q.bytes -= one.size
	q.count--
	if len(l.items) == 0 {
		delete(q.accounts, l.account)
		q.turns = q.turns[1:]
	}
	return one
}
