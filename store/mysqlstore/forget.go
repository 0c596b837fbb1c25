package mysqlstore

import (
	"context"
	"encoding/hex"
	"fmt"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

// Forget removes the record of k.
func (s *Store) Forget(ctx context.Context, k store.Key) error {
	if err := k.Validate(); err != nil {
		return fmt.Errorf("mysqlstore: forget: %w", err)
	}
	var c call
	s.call(&c, 0, k, store.Token{})
	// What the statement must not remove it does not; why not, is for a look.
	cut := s.texts.forget
	text := s.appendKey([]byte(cut[0]), &c)
	result, err := s.db.ExecContext(ctx, string(append(text, cut[1]...)))
	if err != nil {
		return s.failed("forget", err)
	}
	if n, err := result.RowsAffected(); err == nil && n > 0 {
		return nil
	}
	r, err := s.Get(ctx, k)
	if err == nil && r.Status == store.StatusConsuming {
		return store.ErrInFlight
	}
	if err == nil { // its lease has ended, or it was claimed and given back, since
		return s.Forget(ctx, k)
	}
	return err
}

func hexString(text string) (string, error) {
	b, err := hex.DecodeString(text)
	return string(b), err
}
