package service

import (
	"context"
	"strings"
	"time"
)

var (
	opListTeam     = Operation{"GET", "/team", "team:read"}
	opListSectors  = Operation{"GET", "/sectors", "team:read"}
	opCompanyRules = Operation{"GET", "/company/attendance", "team:read"}
)

var teamOperations = []Operation{opListTeam, opListSectors, opCompanyRules}

// Person is a member of the team.
type Person struct {
	ID            string
	Name          string
	Role          string
	AccessProfile string
	Presence      string // such as online, away, offline
	SectorIDs     []string
	Raw           map[string]any
}

// DecodePerson reads a member of the team through the profile.
func DecodePerson(raw map[string]any, p *Profile) Person {
	f, n := fields(raw), &p.Person
	return Person{ID: f.id(n.ID), Name: f.str(n.Name), Role: f.str(n.Role), AccessProfile: f.str(n.AccessProfile), Presence: f.str(n.Presence), SectorIDs: f.ids(n.SectorIDs), Raw: raw}
}

// ListTeam lists the people, to whom conversations can be transferred.
func (c *Client) ListTeam(ctx context.Context) ([]Person, error) {
	return all(ctx, c, request{op: opListTeam}, DecodePerson)
}

// Sector is a part of the company that takes conversations.
type Sector struct {
	ID        string
	Name      string
	MemberIDs []string
	Queues    []Queue
	Raw       map[string]any
}

// Queue is a queue of conversations that wait in a sector.
type Queue struct {
	ID      string
	Name    string
	Waiting int
}

// DecodeSector reads a sector through the profile.
func DecodeSector(raw map[string]any, p *Profile) Sector {
	f, n := fields(raw), &p.Sector
	s := Sector{ID: f.id(n.ID), Name: f.str(n.Name), MemberIDs: f.ids(n.MemberIDs), Raw: raw}
	for _, q := range f.objects(n.Queues) {
		s.Queues = append(s.Queues, Queue{ID: q.id(n.QueueID), Name: q.str(n.QueueName), Waiting: q.int(n.QueueWaiting)})
	}
	return s
}

// ListSectors lists the sectors with their members and queues.
func (c *Client) ListSectors(ctx context.Context) ([]Sector, error) {
	return all(ctx, c, request{op: opListSectors}, DecodeSector)
}

// CompanyRules are the company's rules for attendances.
type CompanyRules struct {
	Enabled            bool
	FirstResponderOwns bool
	Mode               string        // restricted or liberal
	AutoClose          bool          // attendances close by themselves
	AutoCloseAfter     time.Duration // 0 if unknown
	Raw                map[string]any
}

// DecodeCompanyRules reads the rules through the profile.
func DecodeCompanyRules(raw map[string]any, p *Profile) CompanyRules {
	f, n := fields(raw), &p.CompanyRules
	r := CompanyRules{Enabled: f.flag(n.Enabled), FirstResponderOwns: f.flag(n.FirstResponderOwns), Mode: strings.ToLower(f.str(n.Mode)), Raw: raw}
	if restricted, ok := first(f, n.Restricted, asBool); ok && r.Mode == "" {
		r.Mode = "liberal"
		if restricted {
			r.Mode = "restricted"
		}
	}
	r.AutoCloseAfter = time.Duration(f.int(n.AutoCloseMinutes))*time.Minute + time.Duration(f.int(n.AutoCloseHours))*time.Hour
	r.AutoClose = f.flag(n.AutoClose) || r.AutoCloseAfter > 0
	return r
}

// GetCompanyRules reads the company's attendance rules.
func (c *Client) GetCompanyRules(ctx context.Context) (CompanyRules, error) {
	v, _, err := one(ctx, c, request{op: opCompanyRules}, "rules", c.profile.CompanyRules.Mode, DecodeCompanyRules)
	return v, err
}
