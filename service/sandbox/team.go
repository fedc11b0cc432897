package sandbox

import "slices"

// me is the identity of the integration.
func (s *Sandbox) me(c *call) (any, error) {
	scopes := c.key.Scopes
	if scopes == nil {
		scopes = []string{}
	}
	return struct {
		ID         ID       `json:"id"`
		Name       string   `json:"name"`
		TenantID   ID       `json:"tenant_id"`
		TenantName string   `json:"tenant_name"`
		Scopes     []string `json:"scopes"`
		APIVersion string   `json:"api_version"`
	}{c.key.ID, c.key.Name, s.store.tenantID, s.store.tenantName, scopes, Version}, nil
}

func (s *Sandbox) listTeam(c *call) (any, error) { return listOf(s.store.people), nil }

func (s *Sandbox) listSectors(c *call) (any, error) {
	var sectors []*Sector
	for _, sector := range s.store.sectors {
		sectors = append(sectors, s.store.sectorView(sector))
	}
	return listOf(sectors), nil
}

// sectorView adds what is known elsewhere: who belongs to the sector, and how
// many attendances wait. All that wait are in the first queue.
func (st *store) sectorView(sector *Sector) *Sector {
	view := *sector
	view.MemberIDs = nil
	for _, p := range st.people {
		if slices.Contains(p.SectorIDs, sector.ID) {
			view.MemberIDs = append(view.MemberIDs, p.ID)
		}
	}
	view.Queues = slices.Clone(sector.Queues)
	if len(view.Queues) > 0 {
		view.Queues[0].Waiting = st.waiting[sector.ID]
	}
	return &view
}

func (s *Sandbox) companyRules(c *call) (any, error) { return s.store.rules, nil }
