package cli

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/punctual-dev/punctual/internal/auth"
	"github.com/punctual-dev/punctual/internal/execute"
	"github.com/punctual-dev/punctual/internal/identity"
	"github.com/punctual-dev/punctual/internal/store"
)

type keysQStash struct {
	recordsFlags
	Email     string `arg:"" help:"The account's email."`
	Name      label  `default:"qstash" placeholder:"NAME" help:"What the key is for."`
	PublicURL string `name:"public-url" env:"PUNCTUAL_PUBLIC_URL" default:"http://127.0.0.1:8080" placeholder:"URL" help:"Where programs reach the service."`
}

// qstashView is what a program that uses a QStash client needs.
type qstashView struct {
	URL     string `json:"QSTASH_URL"`
	Token   string `json:"QSTASH_TOKEN"`
	Current string `json:"QSTASH_CURRENT_SIGNING_KEY"`
	Next    string `json:"QSTASH_NEXT_SIGNING_KEY"`
}

// Run creates a key and prints it with the keys that sign requests.
func (c *keysQStash) Run(env *environment) error {
	return c.withAccount(env, c.Email, func(ctx context.Context, s store.Store, a *identity.Account) error {
		keys, err := auth.ReadTokenKeys(ctx, s, a.Number)
		if errors.Is(err, execute.ErrSealed) {
			return c.sealed("signing keys", a)
		}
		if err != nil {
			return err
		}
		key, err := issueKey(ctx, env, s, a, auth.KeySpec{Name: string(c.Name), Scope: identity.ScopeAdmin}, s.Now())
		if err != nil {
			return keyRefusal(err)
		}
		// Clients read the user from such a token.
		token, err := json.Marshal(struct{ UserID, Password string }{a.ID.String(), key.Key})
		if err != nil {
			return err
		}
		v := qstashView{strings.TrimSuffix(c.PublicURL, "/"), base64.StdEncoding.EncodeToString(token), keys.Current, keys.Next}
		if c.JSON {
			return printJSON(env.out, v)
		}
		return v.print(env.out)
	})
}

func (v qstashView) print(out io.Writer) error {
	_, err := fmt.Fprintf(out, "export QSTASH_URL='%s'\nexport QSTASH_TOKEN='%s'\nexport QSTASH_CURRENT_SIGNING_KEY='%s'\nexport QSTASH_NEXT_SIGNING_KEY='%s'\n",
		v.URL, v.Token, v.Current, v.Next)
	return err
}
