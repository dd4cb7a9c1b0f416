package copydb

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/identity"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/store"
)

const (
	// maxPage is the maximum number of records to read and write at once, maxBytes
	// approximately their maximum size in bytes. The first page has firstPage
	// records, because their size is not known yet.
	maxPage   = 500
	firstPage = 50
	maxBytes  = 4 << 20
)

// section is one kind of records.
type section struct {
	name   string
	global bool // numbered across accounts
	// page reads up to limit records of an account, or of all, after a place.
	page func(ctx context.Context, s Store, owner job.Owner, behind string, limit int) ([]record, error)
}

// record is one record: a pointer to a type of store.Records.
type record struct {
	value any
	place string // within its section and account
}

// sections are the sections in the order in which they are copied.
var sections = []section{
	{name: "accounts", page: accountPage},
	{name: "people", page: personPage},
	{name: "members", page: memberPage},
	{name: "keys", page: keyPage},
	{name: "secrets", page: secretPage},
	{name: "alerts", page: alertPage},
	{name: "recipients", page: recipientPage},
	{name: "schedules", page: schedulePage},
	{name: "jobs", page: jobPage},
	{name: "logs", page: logPage},
	{name: "requests", page: requestPage},
	{name: "waits", page: waitPage},
	{name: "deliveries", page: deliveryPage, global: true},
	{name: "audits", page: auditPage, global: true},
}

// place is the position of a record among all. The zero place is before the first.
type place struct {
	section int
	account int64
	behind  string // a record's place within section and account; "" before the first
}

// String returns the position as CopyWrite stores it.
func (p place) String() string {
	return fmt.Sprintf("%s/%d/%s", sections[p.section].name, p.account, p.behind)
}

func parsePlace(mark string) (p place, err error) {
	if mark == "" {
		return p, nil
	}
	parts := strings.Split(mark, "/")
	if len(parts) == 3 {
		p.section = slices.IndexFunc(sections, func(s section) bool { return s.name == parts[0] })
		p.account, err = strconv.ParseInt(parts[1], 10, 64)
		p.behind = parts[2]
	}
	if len(parts) != 3 || p.section < 0 || err != nil {
		return p, fmt.Errorf("the mark %q of the interrupted copy can't be read; was it begun by another version of punctual? empty the target and copy again", mark)
	}
	return p, nil
}

// walk visits all records after a place in order.
func walk(ctx context.Context, s Store, from place, visit func(place, record) error) error {
	accounts, err := s.AccountList(ctx)
	if err != nil {
		return fmt.Errorf("reading accounts: %w", err)
	}
	slices.SortFunc(accounts, func(a, b *identity.Account) int { return cmp.Compare(a.Number, b.Number) })
	for i := from.section; i < len(sections); i++ {
		owners := []job.Owner{{}}
		if !sections[i].global {
			owners = owners[:0]
			for _, a := range accounts {
				owners = append(owners, a.Owner)
			}
		}
		w := &walker{store: s, section: sections[i], limit: firstPage}
		for _, owner := range owners {
			at := place{section: i, account: owner.Number}
			if i == from.section && owner.Number < from.account {
				continue
			}
			if i == from.section && owner.Number == from.account {
				at.behind = from.behind
			}
			if err := w.walk(ctx, owner, at, visit); err != nil {
				return err
			}
		}
	}
	return nil
}

// walker visits the records of a section.
type walker struct {
	store   Store
	section section
	limit   int
}

func (w *walker) walk(ctx context.Context, owner job.Owner, at place, visit func(place, record) error) error {
	for {
		page, err := w.section.page(ctx, w.store, owner, at.behind, w.limit)
		if err != nil {
			return fmt.Errorf("reading %s: %w", w.section.name, err)
		}
		if len(page) == 0 { // a page that is bounded in bytes may be short before the last
			return nil
		}
		bytes := 0
		for _, r := range page {
			at.behind = r.place
			bytes += size(r.value)
			if err := visit(at, r); err != nil {
				return err
			}
		}
		w.limit = min(max(maxBytes/(bytes/len(page)+1), 1), maxPage)
	}
}

// size returns approximately how many bytes a record has.
func size(value any) int {
	const fields = 200 // those of few bytes
	switch v := value.(type) {
	case *job.Schedule:
		return fields + job.ScheduleSize(v)
	case *job.Job:
		return fields + job.Size(v)
	case *job.Log:
		return fields + len(v.Payload)
	case *store.PendingDelivery:
		return fields + len(v.Body)
	case *identity.HeaderSecret:
		return fields + len(v.Value)
	case *store.Alert:
		return fields + len(v.Definition) + len(v.Match) + len(v.Data)
	case *identity.AuditEntry:
		return fields + len(v.ActorName) + len(v.Detail) + len(v.Slot)
	}
	return fields
}

func accountPage(ctx context.Context, s Store, owner job.Owner, behind string, _ int) ([]record, error) {
	if behind != "" {
		return nil, nil
	}
	a, err := s.AccountOf(ctx, owner.Number)
	return []record{{a, owner.ID.String()}}, err
}

// personPage reads the persons whose oldest account is the owner's.
func personPage(ctx context.Context, s Store, owner job.Owner, behind string, limit int) ([]record, error) {
	members, err := s.MemberList(ctx, owner.Number)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(members, func(a, b *identity.Member) int { return bytes.Compare(a.Person[:], b.Person[:]) })
	var page []*identity.Person
	for _, m := range members {
		if m.Invited() || m.Person.String() <= behind || len(page) == limit {
			continue
		}
		p, err := s.PersonOf(ctx, m.Person)
		if err != nil {
			return nil, err
		}
		if p.Home.Number == owner.Number {
			page = append(page, p)
		}
	}
	return records(page, func(p *identity.Person) string { return p.ID.String() }), nil
}

func memberPage(ctx context.Context, s Store, owner job.Owner, behind string, limit int) ([]record, error) {
	members, err := s.MemberList(ctx, owner.Number)
	known := slices.IndexFunc(members, func(m *identity.Member) bool { return m.ID.String() == behind })
	members = members[known+1:]
	return records(members[:min(limit, len(members))], func(m *identity.Member) string { return m.ID.String() }), err
}

func keyPage(ctx context.Context, s Store, owner job.Owner, behind string, limit int) ([]record, error) {
	keys, err := s.KeyList(ctx, owner.Number)
	known := slices.IndexFunc(keys, func(k *identity.Key) bool { return k.ID.String() == behind })
	keys = keys[known+1:]
	return records(keys[:min(limit, len(keys))], func(k *identity.Key) string { return k.ID.String() }), err
}

// secretPage reads header secrets, whose values stay encrypted.
func secretPage(ctx context.Context, s Store, owner job.Owner, behind string, limit int) ([]record, error) {
	secrets, err := s.SecretList(ctx, owner.Number)
	known := slices.IndexFunc(secrets, func(h *identity.HeaderSecret) bool { return h.Name > behind })
	if known < 0 {
		return nil, err
	}
	secrets = secrets[known:]
	return records(secrets[:min(limit, len(secrets))], func(h *identity.HeaderSecret) string { return h.Name }), err
}

func alertPage(ctx context.Context, s Store, owner job.Owner, behind string, limit int) ([]record, error) {
	alerts, err := s.AlertList(ctx, owner)
	for len(alerts) > 0 && alerts[0].Name <= behind {
		alerts = alerts[1:]
	}
	return records(alerts[:min(limit, len(alerts))], func(a *store.Alert) string { return a.Name }), err
}

func recipientPage(ctx context.Context, s Store, owner job.Owner, behind string, limit int) ([]record, error) {
	after, err := url.PathUnescape(behind)
	if err != nil {
		return nil, err
	}
	page, err := s.RecipientList(ctx, owner.Number, after, limit)
	return records(page, func(r *store.Recipient) string { return url.PathEscape(r.Address) }), err // a mark has slashes of its own
}

func schedulePage(ctx context.Context, s Store, owner job.Owner, behind string, limit int) ([]record, error) {
	after, err := parseID(behind)
	if err != nil {
		return nil, err
	}
	page, err := s.ScheduleList(ctx, owner, job.ScheduleQuery{ListQuery: job.ListQuery{Limit: limit, AfterID: after}})
	return records(page, func(s *job.Schedule) string { return s.ID.String() }), err
}

func jobPage(ctx context.Context, s Store, owner job.Owner, behind string, limit int) ([]record, error) {
	below, err := parseNumber(behind)
	if err != nil {
		return nil, err
	}
	page, err := s.JobPage(ctx, owner, below, limit, maxBytes)
	for _, j := range page {
		j.DueAt, _ = store.OwnDue(j.DueAt) // the copy holds its items itself
	}
	return records(page, func(j *job.Job) string { return strconv.FormatInt(j.Number, 10) }), err
}

func logPage(ctx context.Context, s Store, owner job.Owner, behind string, limit int) ([]record, error) {
	after, err := parseID(behind)
	if err != nil {
		return nil, err
	}
	page, err := s.LogPage(ctx, owner, after, limit)
	return records(page, func(l *job.Log) string { return l.ID.String() }), err
}

func requestPage(ctx context.Context, s Store, owner job.Owner, behind string, limit int) ([]record, error) {
	after, err := parseID(behind)
	if err != nil {
		return nil, err
	}
	page, err := s.RequestPage(ctx, owner, after, limit)
	return records(page, func(r *store.Request) string { return r.ID.String() }), err
}

// waitPage reads which jobs wait for which. Ends that are not noted yet are found again
// by the sweep when the service starts.
func waitPage(ctx context.Context, s Store, owner job.Owner, behind string, limit int) ([]record, error) {
	waiting, awaited, _ := strings.Cut(behind, " ")
	after, err := parseNumber(waiting)
	if err != nil {
		return nil, err
	}
	number, err := parseNumber(awaited)
	if err != nil {
		return nil, err
	}
	page, err := s.WaitPage(ctx, owner.Number, after, number, limit)
	return records(page, func(w *store.Wait) string { return fmt.Sprint(w.Job, " ", w.WaitsFor) }), err
}

func deliveryPage(ctx context.Context, s Store, _ job.Owner, behind string, limit int) ([]record, error) {
	after, err := parseNumber(behind)
	if err != nil {
		return nil, err
	}
	page, err := s.DeliveryPage(ctx, after, limit)
	return records(page, func(d *store.PendingDelivery) string { return strconv.FormatInt(d.Number, 10) }), err
}

// auditPage reads entries of all accounts and of the service (account 0).
func auditPage(ctx context.Context, s Store, _ job.Owner, behind string, limit int) ([]record, error) {
	account, id, _ := strings.Cut(behind, " ")
	number, err := parseNumber(account)
	if err != nil {
		return nil, err
	}
	after, err := parseID(id)
	if err != nil {
		return nil, err
	}
	page, err := s.AuditPage(ctx, number, after, limit)
	return records(page, func(a *identity.AuditEntry) string { return strconv.FormatInt(a.Account, 10) + " " + a.ID.String() }), err
}

func records[T any](page []*T, place func(*T) string) []record {
	all := make([]record, len(page))
	for i, v := range page {
		all[i] = record{v, place(v)}
	}
	return all
}

func parseID(behind string) (uuid.UUID, error) {
	if behind == "" {
		return uuid.Nil, nil
	}
	return uuid.Parse(behind)
}

func parseNumber(behind string) (int64, error) {
	if behind == "" {
		return 0, nil
	}
	return strconv.ParseInt(behind, 10, 64)
}
