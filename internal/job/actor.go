package job

import (
	"context"

	"github.com/punctual-dev/punctual/internal/rawjson"
)

// Actor is who makes a change.
type Actor struct {
	Kind ActorKind
	// ID is the id of the key or of the account; "" if there is none.
	ID string
	// Name is the name of the key or the email of the person, as it was then.
	Name string
}

// ActorKind is what an actor is.
type ActorKind string

// The kinds of actors.
const (
	ByKey      ActorKind = "key"      // a call with an API key
	ByPublic   ActorKind = "public"   // a call with the shared public key
	BySession  ActorKind = "session"  // a signed-in user
	ByOperator ActorKind = "operator" // an operator in another account
	BySystem   ActorKind = "system"   // the service itself
)

type actorKey struct{}

// WithActor returns a context of a call that an actor makes.
func WithActor(ctx context.Context, a Actor) context.Context {
	return context.WithValue(ctx, actorKey{}, a)
}

// ActorOf returns who makes a call; the service itself unless WithActor says
// otherwise.
func ActorOf(ctx context.Context) Actor {
	if a, ok := ctx.Value(actorKey{}).(Actor); ok {
		return a
	}
	return Actor{Kind: BySystem}
}

// maxActorName is the maximum length of an actor's id and name in records, in
// bytes.
const maxActorName = 255

// AppendActor appends an actor as {"kind", "id", "name"}; an id or name that is
// missing is null.
func AppendActor(b []byte, a Actor) []byte {
	member := func(name, text string) {
		b = append(append(b, name...), "null"...)
		if text != "" {
			b = rawjson.AppendText(b[:len(b)-len("null")], cut(text, maxActorName))
		}
	}
	b = rawjson.AppendText(append(b, `{"kind":`...), string(a.Kind))
	member(`,"id":`, a.ID)
	member(`,"name":`, a.Name)
	return append(b, '}')
}

// ReadActor reads what AppendActor wrote.
func ReadActor(v rawjson.Value) Actor {
	text := func(name string) string { return rawjson.Text(rawjson.Get(v, name)) }
	return Actor{Kind: ActorKind(text("kind")), ID: text("id"), Name: text("name")}
}
