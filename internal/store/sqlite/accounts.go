package sqlite

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
)

// orNull returns a text, or nil for "".
func orNull(text string) any {
	if text == "" {
		return nil
	}
	return text
}

// numberOrNull returns a number, or null for 0.
func numberOrNull(n int64) any {
	if n == 0 {
		return nil
	}
	return n
}

// KeyUsed implements store.Accounts.
func (s *Store) KeyUsed(ctx context.Context, at map[uuid.UUID]time.Time) error {
	return s.write(ctx, func(t *tx) error {
		for id, when := range at {
			if err := t.exec(`UPDATE keys SET last_used_at = ? WHERE id = ?`, when, id); err != nil {
				return fmt.Errorf("recording the use of a key: %w", err)
			}
		}
		return nil
	})
}
