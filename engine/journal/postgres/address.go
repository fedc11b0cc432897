package postgres

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// maxConns is the maximum number of an engine's connections, unless its address says
// pool_max_conns.
const maxConns = 16

// An address is the address of a database.
type address struct {
	pool   *pgxpool.Config
	listen *pgx.ConnConfig // for LISTEN, which does not work through a pooler in transaction mode
	shown  string          // without a password
}

// parse parses an address. Besides the parameters of the driver, it may have listen=host:port:
// where to LISTEN if the address itself is that of a pooler.
func parse(where string) (*address, error) {
	u, err := url.Parse(where)
	if err != nil {
		return nil, errors.New("the address cannot be read: it should look like postgres://user:password@host/database, with special characters of the password as %40 and the like")
	}
	query := u.Query()
	direct := query.Get("listen")
	query.Del("listen")
	u.RawQuery = query.Encode()
	a := &address{shown: (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()}
	if a.pool, err = pgxpool.ParseConfig(u.String()); err != nil {
		return nil, fmt.Errorf("the address of %s cannot be used: %w", a.shown, err)
	}
	if !query.Has("pool_max_conns") {
		a.pool.MaxConns = maxConns
	}
	a.pool.MaxConns = max(a.pool.MaxConns, 2) // a migration holds a lock on one and needs another
	// Without prepared statements the driver must be told the database's type of texts.
	a.pool.AfterConnect = func(_ context.Context, c *pgx.Conn) error {
		c.TypeMap().RegisterDefaultPgType(texts{}, "_text")
		return nil
	}
	setDefaults(a.pool.ConnConfig)
	a.listen = a.pool.ConnConfig.Copy()
	if direct != "" {
		other := *u
		other.Host = direct
		if strings.HasPrefix(direct, "/") { // the folder of a socket
			other.Host = ""
		}
		query.Del("host")
		if other.Host == "" {
			query.Set("host", direct)
		}
		other.RawQuery = withoutPool(query).Encode()
		if a.listen, err = pgx.ParseConfig(other.String()); err != nil {
			return nil, fmt.Errorf("the address of %s: listen=%s cannot be used: %w", a.shown, direct, err)
		}
		setDefaults(a.listen)
	}
	return a, nil
}

// withoutPool removes the parameters of the connection pool.
func withoutPool(query url.Values) url.Values {
	for key := range query {
		if strings.HasPrefix(key, "pool_") {
			query.Del(key)
		}
	}
	return query
}

// setDefaults sets parameters of a connection that the address does not have.
func setDefaults(c *pgx.ConnConfig) {
	if c.ConnectTimeout == 0 {
		c.ConnectTimeout = 5 * time.Second
	}
	if c.RuntimeParams["application_name"] == "" {
		c.RuntimeParams["application_name"] = "quando"
	}
}
