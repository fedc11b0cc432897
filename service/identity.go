package service

import (
	"context"
	"net/http"
	"time"
)

var (
	opMe = Operation{"GET", "/me", ""}
)

var identityOperations = []Operation{opMe}

// Identity is the integration that the key belongs to.
type Identity struct {
	ID         string
	Name       string
	TenantID   string
	TenantName string
	Scopes     []string
	APIVersion string
	// ServedAt is the service's own time, from the Date header; zero if it sends none.
	ServedAt time.Time
	Raw      map[string]any
}

// DecodeIdentity reads an identity through the profile.
func DecodeIdentity(raw map[string]any, p *Profile) Identity {
	f, n := fields(raw), &p.Identity
	return Identity{
		ID: f.id(n.ID), Name: f.str(n.Name), TenantID: f.id(n.TenantID), TenantName: f.str(n.TenantName),
		Scopes: f.strs(n.Scopes), APIVersion: f.str(n.APIVersion), Raw: raw,
	}
}

// Me reads the identity of the key. Every valid key may.
func (c *Client) Me(ctx context.Context) (Identity, error) {
	who, out, err := one(ctx, c, request{op: opMe}, "identity", c.profile.Identity.ID, DecodeIdentity)
	if t, bad := http.ParseTime(out.header.Get("Date")); bad == nil {
		who.ServedAt = t
	}
	return who, err
}
