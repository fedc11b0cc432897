package sandbox

func teamOperations() []*operation {
	return []*operation{
		read("GET /me", "", (*Sandbox).me),
		read("GET /team", "team:read", (*Sandbox).listTeam),
		read("GET /sectors", "team:read", (*Sandbox).listSectors),
		read("GET /company/attendance", "team:read", (*Sandbox).companyRules),
	}
}

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
	}{c.key.ID, c.key.Name, s.store.TenantID, s.store.TenantName, scopes, Version}, nil
}

func (s *Sandbox) listTeam(c *call) (any, error) { return listOf(s.store.People), nil }

func (s *Sandbox) listSectors(c *call) (any, error) {
	var sectors []*Sector
	for _, sector := range s.store.Sectors {
		sectors = append(sectors, s.store.SectorView(sector))
	}
	return listOf(sectors), nil
}

func (s *Sandbox) companyRules(c *call) (any, error) { return s.store.Rules, nil }
