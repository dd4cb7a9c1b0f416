package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"strings"
	"text/tabwriter"

	"github.com/alecthomas/kong"

	"github.com/punctual-dev/punctual/internal/audit"
	"github.com/punctual-dev/punctual/internal/execute"
	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/operator"
	"github.com/punctual-dev/punctual/internal/store"
)

// targetFlags say which targets may be called.
type targetFlags struct {
	DenyTargets  addresses `setting:"" placeholder:"CIDR,…" help:"Addresses that are never called, whatever else is allowed."`
	AllowTargets addresses `setting:"" placeholder:"CIDR,…" help:"Addresses that may be called even if they are private or otherwise special."`
	TargetPorts  ports     `setting:"" default:"${target_ports}" placeholder:"PORTS" help:"Ports that may be called. One that browsers block, such as 25, must be listed by itself."`
}

// addresses is a list of addresses and CIDR prefixes, separated by commas.
type addresses []netip.Prefix

// Decode implements kong.MapperValue.
func (a *addresses) Decode(ctx *kong.DecodeContext) error {
	text, err := popText(ctx)
	if err != nil || strings.TrimSpace(text) == "" {
		*a = nil
		return err
	}
	var all addresses
	for part := range strings.SplitSeq(text, ",") {
		prefix, err := execute.ParsePrefix(strings.TrimSpace(part))
		if err != nil {
			return fmt.Errorf("%w, not %q; several are separated by commas", err, part)
		}
		all = append(all, prefix)
	}
	*a = all
	return nil
}

// ports says which ports of targets may be called.
type ports execute.Ports

// Decode implements kong.MapperValue.
func (p *ports) Decode(ctx *kong.DecodeContext) error {
	text, err := popText(ctx)
	if err != nil {
		return err
	}
	read, err := execute.ParsePorts(text)
	if err != nil {
		return fmt.Errorf("%w, not %q", err, text)
	}
	*p = ports(read)
	return nil
}

// String returns the ports as they were given.
func (p ports) String() string { return execute.Ports(p).String() }

type targetsCommand struct {
	Block   targetsBlock   `cmd:"" help:"Block a target for all accounts."`
	Unblock targetsUnblock `cmd:"" help:"Unblock a target."`
	List    targetsList    `cmd:"" help:"List the blocked targets."`
}

// blockedView is a blocked target as it is printed.
type blockedView struct {
	Target    string  `json:"target"`
	Reason    string  `json:"reason"`
	BlockedAt *string `json:"blocked_at"`
}

func viewBlock(b *operator.TargetBlock) blockedView {
	return blockedView{b.Target, b.Reason, viewTime(b.BlockedAt)}
}

const targetHelp = "A host name, which stands for its subdomains too, an IP address or a CIDR prefix."

type targetsBlock struct {
	recordsFlags
	Target string `arg:"" help:"${target_help}"`
	Reason string `placeholder:"TEXT" help:"The reason, which only operators see. Without it, a block that exists keeps its own."`
}

// Run blocks a target; one that is blocked already gets the new reason, if there is one.
func (c *targetsBlock) Run(env *environment) error {
	rule, err := parseTarget(c.Target)
	if err != nil {
		return err
	}
	if len(c.Reason) > operator.MaxBlockReason {
		return fmt.Errorf("--reason must be at most %d bytes long, it has %d", operator.MaxBlockReason, len(c.Reason))
	}
	return c.withStore(env, func(ctx context.Context, s store.Store) error {
		block := &operator.TargetBlock{Target: rule.String(), Reason: c.Reason, BlockedAt: s.Now()}
		if err := s.TargetBlock(ctx, block); err != nil {
			return err
		}
		env.record(s, job.Owner{}, audit.TargetBlocked, withReason(block.Target, c.Reason))
		if c.JSON {
			return printJSON(env.out, viewBlock(block))
		}
		_, err := fmt.Fprintf(env.out, "%s is blocked for all accounts; running services follow within two seconds\n", block.Target)
		return err
	})
}

type targetsUnblock struct {
	recordsFlags
	Target string `arg:"" help:"The target, as targets list shows it."`
}

// Run lets a target be called again.
func (c *targetsUnblock) Run(env *environment) error {
	rule, err := parseTarget(c.Target)
	if err != nil {
		return err
	}
	return c.withStore(env, func(ctx context.Context, s store.Store) error {
		err := s.TargetUnblock(ctx, rule.String())
		if err != nil && fault.CodeOf(err) == fault.NotFound {
			return fmt.Errorf("%s is not blocked; punctual targets list shows what is", rule)
		}
		if err != nil {
			return err
		}
		env.record(s, job.Owner{}, audit.TargetUnblocked, rule.String())
		if c.JSON {
			return printJSON(env.out, struct {
				Target string `json:"target"`
			}{rule.String()})
		}
		_, err = fmt.Fprintf(env.out, "%s may be called again; running services follow within two seconds\n", rule)
		return err
	})
}

// withReason adds the reason for an act to what it was done to.
func withReason(what, reason string) string {
	if reason == "" {
		return what
	}
	return what + ": " + reason
}

func parseTarget(text string) (execute.Rule, error) {
	rule, err := execute.ParseRule(text)
	if err != nil {
		return rule, fmt.Errorf("%q can't be blocked: a target %w", text, err)
	}
	return rule, nil
}

type targetsList struct {
	recordsFlags
}

// Run lists the blocked targets.
func (c *targetsList) Run(env *environment) error {
	return c.withStore(env, func(ctx context.Context, s store.Store) error {
		blocked, err := s.TargetBlocks(ctx)
		if err != nil {
			return err
		}
		views := make([]blockedView, len(blocked))
		for i := range blocked {
			views[i] = viewBlock(&blocked[i])
		}
		if c.JSON {
			return printJSON(env.out, views)
		}
		return printBlocked(env.out, views)
	})
}

func printBlocked(out io.Writer, views []blockedView) error {
	if len(views) == 0 {
		_, err := fmt.Fprintln(out, "no target is blocked")
		return err
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	_, err := fmt.Fprintln(table, "TARGET\tBLOCKED AT\tREASON")
	for _, v := range views {
		_, failed := fmt.Fprintf(table, "%s\t%s\t%s\n", v.Target, *v.BlockedAt, cmp.Or(v.Reason, "none"))
		err = errors.Join(err, failed)
	}
	return errors.Join(err, table.Flush())
}
