package cli

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/yamljson"
)

type applyCommand struct {
	serviceFlags
	File   []string `short:"f" required:"" sep:"none" placeholder:"PATH" help:"A JSON or YAML file, a directory with such files, or - for standard input. May be repeated."`
	Owner  string   `placeholder:"OWNER" help:"The owner of documents that name none."`
	Prune  bool     `type:"switch" help:"Remove schedules of the owner that the document doesn't list."`
	All    bool     `type:"switch" help:"With --prune, allow a document without schedules: all of its owner's are removed."`
	DryRun bool     `type:"switch" help:"Print the plan and change nothing."`
	// Rehearsal is the flag --rehearse; the method has its name.
	Rehearsal bool `name:"rehearse" type:"switch" help:"Print how the runs of the next year would change, and change nothing."`
	Yes       bool `short:"y" type:"switch" help:"Apply without asking. Required where there is no terminal to ask at."`
}

// document is the body of an apply call, with the name of its file.
type document struct {
	name    string
	members []rawjson.Member
}

// Run shows what applying the documents would change, asks, and applies them.
func (c *applyCommand) Run(env *environment) error {
	var documents []document
	for _, path := range c.File {
		read, err := readDocuments(env.in, path)
		if err != nil {
			return err
		}
		documents = append(documents, read...)
	}
	if len(documents) == 0 {
		return errors.New("there is no document: what --file names is empty, or a directory without .json, .yaml and .yml files")
	}
	if c.Owner != "" {
		for i := range documents {
			if !documents[i].has("owner") {
				documents[i].set("owner", rawjson.Quote(c.Owner))
			}
		}
	}
	documents = byOwner(documents)
	if c.Rehearsal {
		return c.rehearse(env, documents)
	}
	plans := make([]*plan, len(documents))
	changes := 0
	for i := range documents {
		var err error
		if plans[i], err = c.send(env, &documents[i], true, ""); err != nil {
			return err
		}
		changes += plans[i].changes()
	}
	if c.DryRun || changes == 0 {
		return c.show(env, plans)
	}
	if !c.Yes {
		if err := c.confirm(env, plans); err != nil {
			return err
		}
	}
	for i := range documents {
		var err error
		if plans[i], err = c.send(env, &documents[i], false, plans[i].etag); err != nil {
			return err
		}
	}
	if c.JSON || c.Yes || c.Quiet {
		return c.show(env, plans)
	}
	_, err := fmt.Fprintf(env.out, "applied: %s\n", tally(plans))
	return err
}

// confirm shows the plans and asks whether to apply them.
func (c *applyCommand) confirm(env *environment, plans []*plan) error {
	if !isInteractive(env.in) {
		if err := c.show(env, plans); err != nil {
			return err
		}
		return errors.New("nothing was applied: there is no terminal to ask at; --yes applies without asking")
	}
	if err := printPlans(env.out, plans); err != nil {
		return err
	}
	return agreed(env, "Apply this?", "nothing was applied")
}

// agreed asks a question at the terminal. It returns the refusal as an error unless the
// reply is yes.
func agreed(env *environment, question, refusal string) error {
	_, _ = fmt.Fprint(env.errOut, question+" [y/N] ")
	line, err := bufio.NewReader(env.in).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("reading the reply: %w", err)
	}
	if reply := strings.ToLower(strings.TrimSpace(line)); reply != "y" && reply != "yes" {
		return errors.New(refusal)
	}
	return nil
}

// isInteractive reports whether somebody can type at the reader.
func isInteractive(in io.Reader) bool {
	file, ok := in.(*os.File)
	return ok && isTerminal(file)
}

// send applies one document, or plans it. With an ETag, the service refuses if
// the owner's schedules have changed since.
func (c *applyCommand) send(env *environment, d *document, dryRun bool, etag string) (*plan, error) {
	body := c.withFlags(d, dryRun)
	header := http.Header{}
	if etag != "" {
		header.Set("If-Match", etag)
	}
	got, err := c.call(env, http.MethodPost, "/api/apply", rawjson.Object(body.members), header)
	var no *refusal
	if errors.As(err, &no) && no.status == http.StatusPreconditionFailed {
		return nil, fmt.Errorf("%s: the schedules have changed since the plan was made; run the command again", d.name)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", d.name, err)
	}
	data, err := c.data(env, got)
	if err != nil {
		return nil, err
	}
	p := &plan{name: d.name, etag: got.Header.Get("ETag"), data: data}
	if err := json.Unmarshal(data, &p.items); err != nil {
		return nil, unreadable(err)
	}
	return p, nil
}

// withFlags returns a document with the members that flags set.
func (c *applyCommand) withFlags(d *document, dryRun bool) document {
	body := document{members: slices.Clone(d.members)}
	for name, on := range map[string]bool{"prune": c.Prune, "all": c.All, "dry_run": dryRun} {
		if on {
			body.set(name, rawjson.Value("true"))
		}
	}
	return body
}

// show prints the plans, as JSON if asked for.
func (c *applyCommand) show(env *environment, plans []*plan) error {
	switch {
	case c.Quiet && !c.JSON:
		return printChanged(env.out, plans)
	case !c.JSON:
		return printPlans(env.out, plans)
	}
	var all []rawjson.Value
	for _, p := range plans {
		all = append(all, rawjson.Elements(p.data)...)
	}
	return c.print(env, rawjson.Array(all), nil)
}

// readDocuments returns the documents of a file, of a directory or of standard
// input. A directory's files are read in the order of their names.
func readDocuments(in io.Reader, path string) ([]document, error) {
	if path == "-" {
		text, err := io.ReadAll(io.LimitReader(in, maxResponse))
		if err != nil {
			return nil, fmt.Errorf("reading standard input: %w", err)
		}
		return parseDocuments("standard input", text)
	}
	paths := []string{path}
	if info, err := os.Stat(path); err != nil {
		return nil, err
	} else if info.IsDir() {
		entries, err := os.ReadDir(path)
		if err != nil {
			return nil, err
		}
		paths = nil
		for _, entry := range entries {
			if extension := strings.ToLower(filepath.Ext(entry.Name())); !entry.IsDir() &&
				slices.Contains([]string{".json", ".yaml", ".yml"}, extension) {
				paths = append(paths, filepath.Join(path, entry.Name()))
			}
		}
	}
	var all []document
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		read, err := parseDocuments(path, text)
		if err != nil {
			return nil, err
		}
		all = append(all, read...)
	}
	return all, nil
}

// parseDocuments reads JSON, or YAML with one or more documents.
func parseDocuments(name string, text []byte) ([]document, error) {
	objects, err := parseObjects(name, text)
	if errors.Is(err, errNoObject) {
		return nil, fmt.Errorf("%s: a document must be an object with owner and schedules", name)
	}
	var all []document
	for _, members := range objects {
		all = append(all, document{name, members})
	}
	return all, err
}

var errNoObject = errors.New("must be an object")

// parseObjects reads the members of a JSON object, or of one or more YAML mappings.
func parseObjects(name string, text []byte) ([][]rawjson.Member, error) {
	values := [][]byte{text}
	if v, err := rawjson.Read(text); err == nil {
		values[0] = v
	} else if first := strings.TrimLeft(string(text), " \t\r\n"); strings.HasPrefix(first, "{") {
		return nil, fmt.Errorf("%s: %w", name, err)
	} else if values, err = yamljson.Documents(text); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	var all [][]rawjson.Member
	for _, v := range values {
		if rawjson.Value(v).Kind() != '{' {
			return nil, fmt.Errorf("%s: %w", name, errNoObject)
		}
		all = append(all, rawjson.Members(v))
	}
	return all, nil
}

// mostSchedules is how many schedules a call applies.
const mostSchedules = 1000

// byOwner joins the documents of one owner, since together they are what it should have.
// Schedules of documents without an owner each name theirs; as none of those prunes,
// they are divided where they are too many for one call.
func byOwner(documents []document) []document {
	var joined []document
	at := map[string]int{}
	for _, d := range documents {
		owner := string(d.get("owner"))
		i, seen := at[owner]
		if !seen {
			at[owner] = len(joined)
			joined = append(joined, d)
			continue
		}
		into := &joined[i]
		into.name += ", " + d.name
		for _, m := range d.members {
			if both := into.get(m.Name); m.Name == "schedules" && both.Kind() == '[' && m.Value.Kind() == '[' {
				m.Value = rawjson.Array(append(rawjson.Elements(both), rawjson.Elements(m.Value)...))
			}
			into.set(m.Name, m.Value)
		}
	}
	var divided []document
	for _, d := range joined {
		schedules := d.get("schedules")
		if d.has("owner") || schedules.Kind() != '[' {
			divided = append(divided, d)
			continue
		}
		for rest := rawjson.Elements(schedules); len(rest) > 0; { // an account without schedules exports none
			n := min(len(rest), mostSchedules)
			part := document{d.name, slices.Clone(d.members)}
			part.set("schedules", rawjson.Array(rest[:n]))
			divided, rest = append(divided, part), rest[n:]
		}
	}
	return divided
}

// get returns a member of the document; nil if there is none.
func (d *document) get(name string) rawjson.Value {
	for _, m := range d.members {
		if m.Name == name {
			return m.Value
		}
	}
	return nil
}

func (d *document) has(name string) bool { return hasField(d.members, name) }

// set sets a member of the document.
func (d *document) set(name string, v rawjson.Value) {
	d.members = slices.DeleteFunc(d.members, func(m rawjson.Member) bool { return m.Name == name })
	d.members = append(d.members, rawjson.Member{Name: name, Value: v})
}

type exportCommand struct {
	serviceFlags
	Owner  string `placeholder:"OWNER" help:"Only the schedules of this owner. Without it, all schedules that have a key."`
	Format string `default:"json" enum:"json,yaml" placeholder:"FORMAT" help:"json or yaml."`
}

// Run prints the account's schedules as a document that apply reads.
func (c *exportCommand) Run(env *environment) error {
	path := "/api/export"
	if c.Owner != "" {
		path += "?" + url.Values{"owner": {c.Owner}}.Encode()
	}
	got, err := c.call(env, http.MethodGet, path, nil, nil)
	if err != nil {
		return err
	}
	if rawjson.Get(got.Body, "schedules") == nil {
		return c.notPunctual(env)
	}
	if c.Format == "yaml" && !c.JSON {
		text, err := yamljson.FromJSON(got.Body)
		if err != nil {
			return fmt.Errorf("writing YAML: %w", err)
		}
		_, err = env.out.Write(text)
		return err
	}
	return c.print(env, got.Body, nil)
}

// plan is what applying a document changes, or changed.
type plan struct {
	name  string
	etag  string
	data  rawjson.Value
	items []planItem
}

type planItem struct {
	Key    string
	Result string // created, changed, unchanged or removed
	Diff   []struct {
		Path     string
		From, To json.RawMessage
	}
}

// changes returns how many schedules the plan changes.
func (p *plan) changes() int {
	n := 0
	for _, item := range p.items {
		if item.Result != "unchanged" {
			n++
		}
	}
	return n
}

// marks begin the lines of a plan.
var marks = map[string]string{"created": "+", "changed": "~", "removed": "-"}

// maxShown bounds how much of a value is printed, in bytes.
const maxShown = 200

func printPlans(out io.Writer, plans []*plan) error {
	w := bufio.NewWriter(out)
	for _, p := range plans {
		for _, item := range p.items {
			if item.Result == "unchanged" {
				continue
			}
			_, _ = fmt.Fprintf(w, "%s %s (%s)\n", cmp.Or(marks[item.Result], "?"), printable(item.Key), item.Result)
			if item.Result != "changed" {
				continue
			}
			for _, d := range item.Diff {
				_, _ = fmt.Fprintf(w, "    %s: %s -> %s\n", printable(d.Path), shown(d.From), shown(d.To))
			}
		}
	}
	_, _ = fmt.Fprintln(w, tally(plans))
	return w.Flush()
}

// printChanged prints the keys of schedules that plans change, each as the id key:KEY.
func printChanged(out io.Writer, plans []*plan) error {
	for _, p := range plans {
		for _, item := range p.items {
			if item.Result == "unchanged" {
				continue
			}
			if _, err := fmt.Fprintln(out, printable("key:"+item.Key)); err != nil {
				return err
			}
		}
	}
	return nil
}

// shown returns a value for a line of a plan.
func shown(v json.RawMessage) string {
	if rawjson.IsNull(rawjson.Value(v)) {
		return "none"
	}
	text := printable(string(v))
	if len(text) > maxShown {
		text = strings.ToValidUTF8(text[:maxShown], "") + "…"
	}
	return text
}

// tally counts the items of plans by result.
func tally(plans []*plan) string {
	counts := map[string]int{}
	for _, p := range plans {
		for _, item := range p.items {
			counts[item.Result]++
		}
	}
	var parts []string
	for _, result := range []string{"created", "changed", "removed", "unchanged"} {
		parts = append(parts, fmt.Sprintf("%d %s", counts[result], result))
	}
	return strings.Join(parts, ", ")
}
