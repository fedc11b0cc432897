package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

const (
	channel = "quando"

	// noticeInterval is the minimum between two notices: commits with a NOTIFY are serialised, so one
	// notice stands for many commits.
	noticeInterval = 25 * time.Millisecond
)

// notices wake idle engines. They are an optimisation: an engine that misses one polls soon.
type notices struct {
	pool *pgxpool.Pool
	from string // the sender's name
	out  chan struct{}
	news chan struct{}
}

func newNotices(pool *pgxpool.Pool, from string) *notices {
	return &notices{pool: pool, from: from, out: make(chan struct{}, 1), news: make(chan struct{}, 1)}
}

// announce notifies the other engines that something is due.
func (n *notices) announce() {
	select {
	case n.out <- struct{}{}:
	default:
	}
}

// send sends announced notices until ctx ends, and then a last one if it is pending.
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
		case <-time.After(noticeInterval):
		}
	}
}

// notify sends a notice. It ignores the end of send's context: callers that then close the journal
// have been told that their events are recorded.
func (n *notices) notify() {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	_, _ = n.pool.Exec(ctx, `SELECT pg_notify($1, $2)`, channel, n.from)
}

// listen listens for notices until ctx ends.
func (n *notices) listen(ctx context.Context, c *pgx.ConnConfig) {
	for ctx.Err() == nil {
		n.listenOnce(ctx, c)
		select {
		case <-ctx.Done():
		case <-time.After(time.Second):
		}
	}
}

// listenOnce listens for notices until the connection breaks. Notices before it has connected may
// be missed, so it wakes the engine at first.
func (n *notices) listenOnce(ctx context.Context, c *pgx.ConnConfig) {
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
