package qstash

import "github.com/punctual-dev/punctual/internal/auth"

// signingKeys are the keys that sign tokens.
type signingKeys struct {
	Current string `json:"current"`
	Next    string `json:"next"`
}

func (c *call) writeKeys(keys auth.TokenKeys, err error) error {
	if err != nil {
		return err
	}
	return c.write(signingKeys{keys.Current, keys.Next})
}

func (c *call) getKeys() error {
	return c.writeKeys(c.api.Auth.TokenKeys(c.Request.Context(), c.Owner.Number))
}

func (c *call) rotateKeys() error {
	return c.writeKeys(c.api.Auth.RotateTokenKeys(c.Request.Context(), c.Owner, c.Actor()))
}
