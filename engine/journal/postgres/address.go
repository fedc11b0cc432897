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

// connections is how many connections an engine has at most, unless its address says
// pool_max_conns.
const connections = 16

// An address is where a database is.
type address struct {
	pool   *pgxpool.Config
	listen *pgx.ConnConfig // for notices, which a pooler that gives every transaction another connection cannot pass on
	shown  string          // without a password
}

// parse reads an address. Besides what the driver knows, it may say listen=host:port: where notices
// are heard when the address itself is a pooler's.
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
		a.pool.MaxConns = connections
	}
	a.pool.MaxConns = max(a.pool.MaxConns, 2) // who changes the schema holds a lock on one, and would wait for itself
	// Without prepared statements the driver must be told what a type of ours is to the database.
	a.pool.AfterConnect = func(_ context.Context, c *pgx.Conn) error {
		c.TypeMap().RegisterDefaultPgType(texts{}, "_text")
		return nil
	}
	settle(a.pool.ConnConfig)
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
		settle(a.listen)
	}
	return a, nil
}

// withoutPool leaves out what only a pool of connections understands.
func withoutPool(query url.Values) url.Values {
	for key := range query {
		if strings.HasPrefix(key, "pool_") {
			query.Del(key)
		}
	}
	return query
}

// settle gives a connection what is not said of it.
func settle(c *pgx.ConnConfig) {
	if c.ConnectTimeout == 0 {
		c.ConnectTimeout = 5 * time.Second
	}
	if c.RuntimeParams["application_name"] == "" {
		c.RuntimeParams["application_name"] = "quando"
	}
}
