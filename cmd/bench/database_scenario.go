package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/quandohq/quando/engine/journal/postgres/postgrestest"
)

// askDatabase queries a journal in PostgreSQL for a number.
func askDatabase(ctx context.Context, address, query string) (int, error) {
	return postgrestest.Ask(ctx, address, strings.NewReplacer("FROM events", "FROM quando.events", "FROM runs", "FROM quando.runs").Replace(query))
}

// journals measures the same job with every kind of journal: a file, and a PostgreSQL server on the
// same disk that keeps what it acknowledges, with one engine and with two.
func (b *bench) journals(ctx context.Context) error {
	server, err := postgrestest.Start(true)
	if err != nil {
		b.leaveOut("PostgreSQL", err)
		return nil
	}
	defer func() { _ = server.Stop() }()
	for i, c := range []struct{ name, rules, letters string }{{"acknowledged", nothingMatches, ""}, {"one call", oneCall, "a"}} {
		var ours []*contest
		for k, engines := range []int{0, 1, 2} {
			database := ""
			if engines > 0 {
				name := fmt.Sprintf("bench_%d_%d", i, k)
				if err := postgrestest.Do(ctx, server.Address("postgres"), `CREATE DATABASE `+name); err != nil {
					return err
				}
				database = server.Address(name)
			}
			contest, err := b.journalOf(ctx, ruleFiles{"rules.yaml": c.rules}, c.letters, database, engines)
			if err != nil {
				return err
			}
			contest.name = []string{"a file", "PostgreSQL", "PostgreSQL, two engines"}[k]
			ours = append(ours, contest)
			what := contest.name + ": " + c.name
			if c.letters == "" {
				b.add(what, "events/s", contest.ours.acknowledged, ours[0].ours.acknowledged, "a file")
				continue
			}
			b.add(what+", acknowledged", "events/s", contest.ours.acknowledged, ours[0].ours.acknowledged, "a file")
			b.add(what+", finished", "runs/s", contest.ours.finished, ours[0].ours.finished, "a file")
		}
	}
	return nil
}

// journalOf measures one kind of journal, with all of its engines under the same load.
func (b *bench) journalOf(ctx context.Context, files ruleFiles, letters, database string, engines int) (c *contest, err error) {
	b.service.reset()
	d, err := b.newDesk(files)
	if err != nil {
		return nil, err
	}
	defer d.remove()
	d.address = database
	if err := d.start(ctx); err != nil {
		return nil, err
	}
	var others []*desk
	for range engines - 1 {
		other, err := b.newDesk(files)
		if err != nil {
			return nil, err
		}
		defer other.remove()
		other.address = database
		if err := other.start(ctx); err != nil {
			return nil, err
		}
		others = append(others, other)
		d.also = append(d.also, other.to)
	}
	c = &contest{desk: d, connections: b.scale.busy()}
	for range b.scale.rounds {
		if err := d.round(ctx, &c.ours, c.connections, ""); err != nil {
			return nil, err
		}
	}
	runs := 0
	if letters != "" {
		runs = int(d.next.Load())
	}
	problems := b.settle(ctx, d, int(d.next.Load()), runs, letters)
	for _, other := range others {
		problems = errors.Join(problems, other.stop())
	}
	return c, problems
}
