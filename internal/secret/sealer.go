package secret

import (
	"errors"
	"strings"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/job"
)

// Sealer encrypts what the redact of jobs and schedules names. Without keys it encrypts
// nothing. What was stored before there were keys can be read with any.
type Sealer struct{ Keys *Keyring }

// hiddenRecord is a hidden part of an account's jobs and schedules. Runs have copies of
// what their schedule has, so the record is not part of it.
func hiddenRecord(account uuid.UUID, part string) string {
	return "punctual hidden part\x00" + account.String() + "\x00" + part
}

// Seal implements job.Sealer.
func (s Sealer) Seal(account uuid.UUID, part string, text []byte) (string, error) {
	if s.Keys == nil {
		return job.Plain{}.Seal(account, part, text)
	}
	return s.Keys.Seal(hiddenRecord(account, part), string(text))
}

// Open implements job.Sealer.
func (s Sealer) Open(account uuid.UUID, part, token string) ([]byte, error) {
	if !strings.HasPrefix(token, sealed) {
		return job.Plain{}.Open(account, part, token)
	}
	if s.Keys == nil {
		return nil, errors.New("it is encrypted, and the service was started without --secrets-key-file")
	}
	text, err := s.Keys.Open(hiddenRecord(account, part), token)
	return []byte(text), err
}
