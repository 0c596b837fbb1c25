package mysqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

// Pulse answers for the only server there is, or for the cluster if that is one of
// Galera. A pulse is committed as a record is, so that a failover which loses
// records loses pulses, too. A restart is not told: what was committed is there
// after it, or pulses are missing. Nothing is repeated.
//
// Everything is asked in one transaction, which proxies send to the primary as a
// whole.
func (s *Store) Pulse(ctx context.Context, p store.Pulse) ([]store.Beat, error) {
	if err := p.Validate(); err != nil {
		return nil, fmt.Errorf("mysqlstore: pulse: %w", err)
	}
	b, err := s.beat(ctx, p)
	if err != nil {
		return nil, s.failed("pulse", err)
	}
	return []store.Beat{b}, nil
}

func (s *Store) beat(ctx context.Context, p store.Pulse) (b store.Beat, err error) {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return b, s.noConn(err)
	}
	defer tx.Rollback() // does nothing after the commit
	doubt := s.sign(p.Application, "doubt")
	if p.Doubt {
		if _, err := s.note(ctx, tx, doubt, p.Number, store.DoubtKeep); err != nil {
			return b, err
		}
	}
	if b.Before, err = s.note(ctx, tx, s.sign(p.Application, p.Node.String()), p.Number, store.PulseKeep); err != nil {
		return b, err
	}
	if err := s.identify(ctx, tx, doubt, &b); err != nil {
		return b, err
	}
	// Commit of package sql has no context.
	_, err = tx.ExecContext(ctx, "COMMIT")
	return b, err
}

// sign is a call about a row that is no record.
func (s *Store) sign(application, id string) *call {
	c := &call{}
	c.parts, c.id = s.stored(store.Key{Application: application, ID: "pulse " + id})
	return c
}

// note writes a row that is no record, and returns the number of the one before.
func (s *Store) note(ctx context.Context, tx *sql.Tx, c *call, number int64, keep time.Duration) (int64, error) {
	cut := s.texts.pulse
	text := s.appendNames([]byte(cut[0]), c)
	text = append(text, ",'PULSE',"+zeroToken+",0,0,0,0,0,"...)
	text = append(appendNumber(text, number), ","+now+","+now+"+"...)
	text = append(appendNumber(text, keep.Milliseconds()), cut[1]...)
	result, err := tx.ExecContext(ctx, string(text))
	if err != nil {
		return 0, err
	}
	const found = 1 << 62 // of sql/pulse.sql
	id, err := result.LastInsertId()
	return max(found, id) - found, err
}

// identify asks who answers, and since when there is a doubt.
func (s *Store) identify(ctx context.Context, tx *sql.Tx, doubt *call, b *store.Beat) error {
	cut := s.texts.beat
	text := append(s.appendKey([]byte(cut[0]), doubt), cut[1]...)
	var micros int64
	var id, host, port string
	var since sql.NullInt64
	if err := tx.QueryRowContext(ctx, string(text)).Scan(&micros, &id, &host, &port, &since); err != nil {
		return err
	}
	b.Time, b.Doubt = time.UnixMicro(micros), -1
	if since.Valid {
		b.Doubt = time.Duration(max(0, since.Int64)) * time.Millisecond
	}
	b.Server = host + ":" + port
	b.Run = id + " " + b.Server
	var name, cluster string
	err := tx.QueryRowContext(ctx, "SHOW GLOBAL STATUS LIKE 'wsrep_cluster_state_uuid'").Scan(&name, &cluster)
	switch {
	case err == nil && strings.Trim(cluster, "0-") != "": // its nodes have the same records
		b.Run = cluster
	case err != nil && !errors.Is(err, sql.ErrNoRows):
		return err
	}
	return nil
}

// Pulse answers for each shard, which it calls by its number. They are asked side
// by side.
func (s *Sharded) Pulse(ctx context.Context, p store.Pulse) ([]store.Beat, error) {
	if err := p.Validate(); err != nil {
		return nil, fmt.Errorf("mysqlstore: pulse: %w", err)
	}
	var mu sync.Mutex // guards beats
	var beats []store.Beat
	err := s.numbered(func(i int, shard *Store) error {
		answered, err := shard.Pulse(ctx, p)
		mu.Lock()
		defer mu.Unlock()
		for _, b := range answered {
			b.Part = fmt.Sprint(i)
			beats = append(beats, b)
		}
		return err
	})
	return beats, err
}
