package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

const (
	channel = "quando"

	// quiet is how long a notice speaks for what comes after it: a commit that sends one keeps others
	// waiting, so that there is one for many.
	quiet = 25 * time.Millisecond
)

// notices wake engines that have nothing to do. They are a convenience: who misses one looks by
// itself soon.
type notices struct {
	pool *pgxpool.Pool
	from string // who sends them
	out  chan struct{}
	news chan struct{}
}

func newNotices(pool *pgxpool.Pool, from string) *notices {
	return &notices{pool: pool, from: from, out: make(chan struct{}, 1), news: make(chan struct{}, 1)}
}

// tell lets the other engines know that there is something due.
func (n *notices) tell() {
	select {
	case n.out <- struct{}{}:
	default:
	}
}

// send sends what is to be told until ctx ends, and then what is left of it.
func (n *notices) send(ctx context.Context) {
	for {
		select {
		case <-n.out:
			n.notify()
		case <-ctx.Done():
			select {
			case <-n.out:
				n.notify()
			default:
			}
			return
		}
		select {
		case <-ctx.Done():
		case <-time.After(quiet):
		}
	}
}

// notify sends a notice, to the end: whoever closes the journal has been told that something is
// recorded.
func (n *notices) notify() {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	_, _ = n.pool.Exec(ctx, `SELECT pg_notify($1, $2)`, channel, n.from)
}

// listen hears what others tell until ctx ends.
func (n *notices) listen(ctx context.Context, c *pgx.ConnConfig) {
	for ctx.Err() == nil {
		n.hear(ctx, c)
		select {
		case <-ctx.Done():
		case <-time.After(time.Second):
		}
	}
}

// hear hears what others tell until the connection breaks. What was told before there was one may
// be missed, so there is something to look for.
func (n *notices) hear(ctx context.Context, c *pgx.ConnConfig) {
	conn, err := pgx.ConnectConfig(ctx, c)
	if err != nil {
		return
	}
	defer conn.Close(context.WithoutCancel(ctx))
	if _, err := conn.Exec(ctx, `LISTEN `+channel); err != nil {
		return
	}
	for n.wake(); ; {
		notice, err := conn.WaitForNotification(ctx)
		if err != nil {
			return
		}
		if notice.Payload != n.from {
			n.wake()
		}
	}
}

func (n *notices) wake() {
	select {
	case n.news <- struct{}{}:
	default:
	}
}
