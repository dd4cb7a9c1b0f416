package why

import (
	"strconv"
	"strings"

	"github.com/punctual-dev/punctual/internal/limit"
)

// MaxUses is of how many limits at most the use is worth reading for an explanation.
const MaxUses = 3

// Use is the use of a limit.
type Use = limit.Use

// Block is one thing that holds a due job back: another job or a limit.
type Block struct {
	Job   int64  // the number of the job that must become final; 0: it is a limit
	Limit string // the key of the limit
	Use   *Use   // of the limit; nil if it was not read
}

// BlockOf returns what an entry of waiting_for names: job:NUMBER, or the key of a limit.
func BlockOf(name string) Block {
	if text, ok := strings.CutPrefix(name, "job:"); ok {
		if number, err := strconv.ParseInt(text, 10, 64); err == nil {
			return Block{Job: number}
		}
	}
	return Block{Limit: name}
}

// BlocksOf returns what waiting_for names, with the use of the first MaxUses limits as
// use returns it: nil if it can't be read.
func BlocksOf(waitingFor []string, use func(key string) *Use) []Block {
	blocks, read := make([]Block, len(waitingFor)), 0
	for i, name := range waitingFor {
		blocks[i] = BlockOf(name)
		if blocks[i].Job == 0 && read < MaxUses {
			read++
			blocks[i].Use = use(name)
		}
	}
	return blocks
}

// shownBlocks is how many sentences there are about what holds a job back.
const shownBlocks = 5

func sentences(blocks []Block, number int64, w Words) string {
	var text strings.Builder
	for i := range blocks {
		if i == shownBlocks {
			text.WriteString(" It waits for " + strconv.Itoa(len(blocks)-i) + " more.")
			break
		}
		text.WriteString(" " + blocks[i].sentence(number, w))
	}
	return text.String()
}

func (b *Block) sentence(number int64, w Words) string {
	if b.Job != 0 {
		return "It waits until job " + strconv.FormatInt(b.Job, 10) + " is final."
	}
	text := "It waits for a limit"
	if w.Names {
		text = "It waits for limit " + b.Limit
	}
	if b.Use == nil {
		return text + "."
	}
	var facts []string
	if b.Use.Paused {
		facts = append(facts, "it is paused")
	}
	if b.Use.Parallel > 0 {
		facts = append(facts, strconv.Itoa(b.Use.InFlight)+" of "+strconv.Itoa(b.Use.Parallel)+" under way")
	}
	if b.Use.Calls > 0 {
		facts = append(facts, limit.Limit{Calls: b.Use.Calls, Per: b.Use.Per}.String())
		if next := b.Use.NextAt; !next.IsZero() && next.After(w.Now) {
			facts = append(facts, "the next start is at "+w.Moment(next))
		}
	}
	if b.Use.Waiting > 1 {
		facts = append(facts, strconv.Itoa(b.Use.Waiting)+" jobs wait")
	}
	switch b.Use.First {
	case 0:
	case number:
		facts = append(facts, "this job is the first that waits")
	default:
		facts = append(facts, "job "+strconv.FormatInt(b.Use.First, 10)+" is the first that waits")
	}
	if facts == nil {
		return text + "."
	}
	return text + ": " + strings.Join(facts, ", ") + "."
}
