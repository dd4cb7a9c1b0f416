package storetest

import (
	"fmt"
	"strings"
	"time"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/identity"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/store"
)

var headerSecretTests = group{
	"ReadBack":           secretsReadBack,
	"AtMostSoMany":       secretsBounded,
	"UsesAreCounted":     secretsUses,
	"UsesFollowRuns":     secretsUsesOfRuns,
	"UsesFollowEdits":    secretsUsesOfEdits,
	"GoWithTheirAccount": secretsDeleted,
	"AreReencrypted":     secretsReencrypted,
}

func (w *world) putSecret(owner job.Owner, name, value string, hosts ...string) *identity.HeaderSecret {
	w.Helper()
	s := &identity.HeaderSecret{Account: owner.Number, Name: name, Hosts: hosts, Value: value, CreatedAt: w.now, UpdatedAt: w.now}
	_, err := w.s.SecretPut(w.ctx, s, store.PutAlways)
	w.ok("SecretPut", err)
	return s
}

func showSecrets(secrets []*identity.HeaderSecret, err error) string {
	if err != nil {
		return err.Error()
	}
	text := ""
	for _, s := range secrets {
		text += fmt.Sprintf("%s=%s for %s, http %t, from %s to %s; ", s.Name, s.Value, strings.Join(s.Hosts, " "), s.HTTP,
			moment(s.CreatedAt), moment(s.UpdatedAt))
	}
	return text
}

// using returns a job whose headers name secrets.
func (w *world) using(owner job.Owner, names ...string) store.NewJob {
	n := w.oneOff(owner, w.past())
	n.Job.Args = usingArgs(names...)
	return n
}

func usingArgs(names ...string) rawjson.Value {
	fields := ""
	for i, name := range names {
		fields += fmt.Sprintf(`,"x-%d":"{{secret.%s}}"`, i, name)
	}
	return rawjson.Value(`{"url":"https://example.com/","method":"get","headers":{"a":"b"` + fields + `}}`)
}

func (w *world) wantUses(when string, owner job.Owner, name string, want int) {
	w.Helper()
	uses, err := w.s.SecretDelete(w.ctx, owner.Number, name, 3)
	w.ok("SecretDelete", err)
	if uses != want {
		w.Errorf("%s %d jobs use %s, want %d", when, uses, name, want)
	}
}

func secretsReadBack(w *world) {
	a := w.putSecret(w.owner, "a", "v1", "a.example", "::1")
	b := w.putSecret(w.owner, "B", "v2", "b.example")
	other := w.putSecret(w.other, "a", "v3", "c.example")
	w.same("the secrets", showSecrets(w.s.SecretList(w.ctx, w.owner.Number)), showSecrets([]*identity.HeaderSecret{b, a}, nil))
	w.same("one by name", showSecrets(w.s.SecretsNamed(w.ctx, w.owner.Number, []string{"none", "a"})),
		showSecrets([]*identity.HeaderSecret{a}, nil))
	later := &identity.HeaderSecret{Account: w.owner.Number, Name: "a", Hosts: []string{"d.example"}, HTTP: true, Value: "v4",
		CreatedAt: w.ahead(), UpdatedAt: w.now}
	created, err := w.s.SecretPut(w.ctx, later, store.PutAlways)
	w.ok("SecretPut", err)
	if created || !later.CreatedAt.Equal(a.CreatedAt) || !later.UpdatedAt.After(a.UpdatedAt) {
		w.Errorf("replaced: new %v, %s", created, showSecrets([]*identity.HeaderSecret{later}, nil))
	}
	w.same("after it was replaced", showSecrets(w.s.SecretList(w.ctx, w.owner.Number)),
		showSecrets([]*identity.HeaderSecret{b, later}, nil))
	encrypted, err := w.s.EncryptedHeaders(w.ctx, store.Encrypted{}, 10)
	if err != nil || len(encrypted) != 3 || encrypted[0].HTTP || !encrypted[1].HTTP || encrypted[2].HTTP {
		w.Errorf("the encrypted values are %+v, %v", encrypted, err)
	}
	w.wantUses("unused", w.owner, "a", 0)
	_, err = w.s.SecretDelete(w.ctx, w.owner.Number, "a", 3)
	w.wantCode("deleted again", err, fault.NotFound)
	w.same("another's", showSecrets(w.s.SecretList(w.ctx, w.other.Number)), showSecrets([]*identity.HeaderSecret{other}, nil))
}

func secretsBounded(w *world) {
	for i := range identity.MaxHeaderSecrets {
		w.putSecret(w.owner, fmt.Sprintf("s%d", i), "v", "a.example")
	}
	_, err := w.s.SecretPut(w.ctx, &identity.HeaderSecret{Account: w.owner.Number, Name: "more", Hosts: []string{"a.example"},
		CreatedAt: w.now, UpdatedAt: w.now}, store.PutAlways)
	w.wantCode("one more", err, fault.Invalid)
	w.putSecret(w.owner, "s5", "v2", "a.example")
	w.putSecret(w.other, "more", "v", "a.example")
	w.putSecret(w.other, "s6", "v", "a.example")
	_, err = w.s.SecretPut(w.ctx, &identity.HeaderSecret{Account: w.owner.Number, Name: "s6", Hosts: []string{"b.example"}, Value: "v2",
		CreatedAt: w.now, UpdatedAt: w.now}, store.PutIfNew)
	w.wantCode("a new one with the name of another", err, fault.Stale)
	if found, err := w.s.SecretsNamed(w.ctx, w.owner.Number, []string{"s6"}); err != nil || len(found) != 1 ||
		found[0].Hosts[0] != "a.example" {
		w.Errorf("afterwards: %s", showSecrets(found, err))
	}
	w.putSecret(w.other, "theirs", "v", "a.example")
	for name, exists := range map[string]bool{"s6": true, "theirs": false} {
		h := &identity.HeaderSecret{Account: w.owner.Number, Name: name, Hosts: []string{"a.example"}, Value: "v", CreatedAt: w.now,
			UpdatedAt: w.now}
		created, err := w.s.SecretPut(w.ctx, h, store.PutIfThere)
		if created || exists && err != nil || !exists && fault.CodeOf(err) != fault.Stale {
			w.Errorf("%s if it is there: created %v, %v", name, created, err)
		}
	}
}

func secretsUses(w *world) {
	for _, name := range []string{"a", "b", "c"} {
		w.putSecret(w.owner, name, "v", "example.com")
		w.putSecret(w.other, name, "v", "example.com")
	}
	jobs := w.insert(w.using(w.owner, "a", "b", "a"), w.using(w.owner, "a"), w.oneOff(w.owner, w.ahead()))
	keyed := w.using(w.owner, "a")
	key := "k"
	keyed.Job.Key = &key
	jobs = append(jobs, w.insertOne(keyed))
	w.wantUses("at first", w.owner, "a", 3)
	w.wantUses("at first", w.owner, "b", 1)
	w.wantUses("of another", w.other, "a", 0)
	w.change(jobs[0], cancel)
	w.wantUses("after a cancel", w.owner, "a", 2)
	w.wantUses("after a cancel", w.owner, "b", 0)
	w.settle(jobs[1], w.retries(w.past()))
	w.wantUses("while one is retried", w.owner, "a", 2)
	w.settle(w.get(jobs[1]), w.completes)
	w.change(jobs[3], cancel)
	w.wantUses("when all are final", w.owner, "a", 0)
}

func secretsUsesOfRuns(w *world) {
	w.putSecret(w.owner, "a", "v", "example.com")
	n := w.recurring(w.owner, w.past())
	n.Job.Args = usingArgs("a")
	n.Schedule.Args = n.Job.Args
	first := w.insertOne(n)
	w.change(first, func(m *store.Snapshot) *store.Changes {
		next := w.nextOf(m.Schedule, w.ahead())
		next.Job.Args = m.Schedule.Args
		c := cancel(m)
		c.Next = next
		return c
	})
	w.wantUses("with the next run", w.owner, "a", 1)
}

func secretsUsesOfEdits(w *world) {
	for _, name := range []string{"a", "b"} {
		w.putSecret(w.owner, name, "v", "example.com")
	}
	j := w.insertOne(w.using(w.owner, "a"))
	w.change(j, func(m *store.Snapshot) *store.Changes {
		edited := *m.Job
		edited.Args = usingArgs("b")
		return &store.Changes{Job: &edited, UpdateDefinition: true}
	})
	w.wantUses("after an edit", w.owner, "b", 1)
	w.wantUses("after an edit", w.owner, "a", 0)
}

func secretsDeleted(w *world) {
	w.putSecret(w.owner, "a", "v", "example.com")
	kept := w.putSecret(w.other, "a", "v", "example.com")
	w.insertOne(w.using(w.owner, "a"))
	w.ok("AccountDelete", w.s.AccountDelete(w.ctx, w.owner.Number, w.now))
	w.same("the secrets", showSecrets(w.s.SecretList(w.ctx, w.owner.Number)), "")
	w.same("another's", showSecrets(w.s.SecretList(w.ctx, w.other.Number)), showSecrets([]*identity.HeaderSecret{kept}, nil))
	w.purge(w.now, 100)
}

func secretsReencrypted(w *world) {
	w.putSecret(w.owner, "a", "v1", "a.example", "b.example")
	w.putSecret(w.owner, "b", "v2", "a.example")
	w.putSecret(w.other, "a", "v3", "a.example")
	w.ok("SecretAdd", w.s.SecretAdd(w.ctx, w.owner.Number, identity.Secret{Value: "whsec_b", CreatedAt: w.now.Add(time.Second)},
		w.past().Add(2*time.Hour)))
	all := func(read func(after store.Encrypted) ([]store.Encrypted, error)) (found []store.Encrypted) {
		w.Helper()
		for after := (store.Encrypted{}); ; after = found[len(found)-1] {
			page, err := read(after)
			w.ok("reading a page", err)
			if found = append(found, page...); len(page) < 2 {
				return found
			}
		}
	}
	_, err := w.s.AccountTokenKeys(w.ctx, w.other.Number, "", "sig_a sig_b")
	w.ok("AccountTokenKeys", err)
	signing := all(func(after store.Encrypted) ([]store.Encrypted, error) { return w.s.EncryptedSigning(w.ctx, after, 2) })
	headers := all(func(after store.Encrypted) ([]store.Encrypted, error) { return w.s.EncryptedHeaders(w.ctx, after, 2) })
	tokens := all(func(after store.Encrypted) ([]store.Encrypted, error) { return w.s.EncryptedTokens(w.ctx, after, 2) })
	for _, e := range tokens {
		if want := map[int64]string{w.other.Number: "sig_a sig_b"}[e.Account.Number]; e.Value != want || !e.Tokens {
			w.Errorf("the token keys of account %d are %q", e.Account.Number, e.Value)
		}
	}
	shown := ""
	var changes []store.Reencrypted
	for _, e := range append(signing, headers...) {
		if e.Account != w.owner && e.Account != w.other {
			w.Errorf("a value of %v", e.Account)
		}
		shown += fmt.Sprintf("%d %s %s %s; ", e.Account.Number-w.owner.Number, e.Name, strings.Join(e.Hosts, " "), e.Value)
		changes = append(changes, store.Reencrypted{Encrypted: e, New: "new " + e.Value})
	}
	difference := w.other.Number - w.owner.Number
	w.same("the values", shown, fmt.Sprintf("0   whsec_owner@example.com; 0   whsec_b; %d   whsec_other@example.com; "+
		"0 a a.example b.example v1; 0 b a.example v2; %d a a.example v3; ", difference, difference))
	for _, e := range tokens {
		changes = append(changes, store.Reencrypted{Encrypted: e, New: "new " + e.Value})
	}
	w.putSecret(w.owner, "b", "meanwhile", "a.example")
	w.ok("EncryptedReplace", w.s.EncryptedReplace(w.ctx, changes))
	shown = ""
	found, err := w.s.EncryptedHeaders(w.ctx, store.Encrypted{}, 10)
	w.ok("EncryptedHeaders", err)
	for _, e := range found {
		shown += e.Value + "; "
	}
	for account, want := range map[int64]string{w.owner.Number: "", w.other.Number: "new sig_a sig_b"} {
		if a, err := w.s.AccountOf(w.ctx, account); err != nil || a.TokenKeys != want {
			w.Errorf("the token keys of account %d afterwards: %+v, %v; want %q", account, a, err, want)
		}
	}
	w.same("the secrets afterwards", shown, "new v1; meanwhile; new v3; ")
	w.same("the signing secrets afterwards", strings.ReplaceAll(w.secrets(), moment(w.past().Add(2*time.Hour)), "T"),
		"new whsec_b until -; new whsec_owner@example.com until T; ")
}
