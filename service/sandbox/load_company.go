package sandbox

import (
	"encoding/json"
	"fmt"
	"time"
)

func (l *loader) company(src json.RawMessage) error {
	doc := companyDoc{l.st.TenantID, l.st.TenantName, l.st.Timezone, l.st.APIMessagesRespond}
	if err := strict(src, &doc); err != nil {
		return err
	}
	if _, err := time.LoadLocation(doc.Timezone); err != nil {
		return fmt.Errorf("timezone: %w", err)
	}
	l.st.TenantID, l.st.TenantName, l.st.Timezone, l.st.APIMessagesRespond = doc.ID, doc.Name, doc.Timezone, doc.APIMessagesRespond
	return nil
}

func (l *loader) rules(src json.RawMessage) error {
	rules := l.st.Rules
	if err := strict(src, &rules); err != nil {
		return err
	}
	if rules.Mode != "restricted" && rules.Mode != "liberal" {
		return fmt.Errorf("mode is restricted or liberal, not %q", rules.Mode)
	}
	l.st.Rules = rules
	return nil
}

func (l *loader) channel(v *Channel) error {
	if v.Name == "" {
		return errNoName
	}
	if _, err := l.st.FindChannel(v.Name); err == nil || l.st.Channel(v.ID) != nil {
		return l.duplicate(v.Name)
	}
	l.fill(&v.ID)
	v.Phone = or(v.Phone, fmt.Sprintf("+5511300000%02d", len(l.st.Channels)+1))
	l.st.Channels = append(l.st.Channels, v)
	return nil
}

func (l *loader) label(v *Label) error {
	if v.Name == "" {
		return errNoName
	}
	if _, err := l.st.FindLabel(v.Name); err == nil || l.st.Label(v.ID) != nil {
		return l.duplicate(v.Name)
	}
	l.fill(&v.ID)
	v.Color = or(v.Color, "#808080")
	l.st.Labels = append(l.st.Labels, v)
	return nil
}

// sectorDoc is a sector whose members may be named; they are read later.
type sectorDoc struct {
	ID        ID       `json:"id"`
	Name      string   `json:"name"`
	MemberIDs []string `json:"member_ids"`
	Queues    []Queue  `json:"queues"`
}

func (l *loader) sector(doc *sectorDoc) error {
	if doc.Name == "" {
		return errNoName
	}
	if _, err := l.st.FindSector(doc.Name); err == nil || l.st.Sector(doc.ID) != nil {
		return l.duplicate(doc.Name)
	}
	v := &Sector{ID: doc.ID, Name: doc.Name, Queues: doc.Queues}
	l.fill(&v.ID)
	if len(v.Queues) == 0 {
		v.Queues = []Queue{{Name: v.Name}}
	}
	for i := range v.Queues {
		l.fill(&v.Queues[i].ID)
		v.Queues[i].Waiting = 0 // counted, not kept
	}
	l.members = append(l.members, members{v, doc.MemberIDs})
	l.st.Sectors = append(l.st.Sectors, v)
	return nil
}

func (l *loader) person(v *Person) error {
	if v.Name == "" {
		return errNoName
	}
	if _, err := l.st.FindPerson(v.Name); err == nil || l.st.Person(v.ID) != nil {
		return l.duplicate(v.Name)
	}
	l.fill(&v.ID)
	v.Role = or(v.Role, "agent")
	v.AccessProfile = or(v.AccessProfile, v.Role)
	v.Presence = or(v.Presence, "online")
	l.st.People = append(l.st.People, v)
	return nil
}

// board reads a board; an existing one gains the stages it lacks.
func (l *loader) board(v *Board) error {
	if v.Name == "" {
		return errNoName
	}
	to, err := l.st.FindBoard(v.Name)
	if err != nil {
		to = &Board{ID: v.ID, Name: v.Name, Archived: v.Archived}
		l.fill(&to.ID)
		l.st.Boards = append(l.st.Boards, to)
	} else if !l.adding {
		return l.duplicate(v.Name)
	}
	for _, stage := range v.Stages {
		if stage == nil || stage.Name == "" {
			return fmt.Errorf("%s: a stage needs a name", v.Name)
		}
		if to.StageNamed(stage.Name) != nil {
			continue
		}
		l.fill(&stage.ID)
		stage.Position = len(to.Stages) + 1
		to.Stages = append(to.Stages, stage)
	}
	return nil
}

func (l *loader) key(v *Key) error {
	if l.st.Key(v.ID) != nil || l.st.KeysByAPIKey[v.APIKey] != nil {
		return l.duplicate("the key " + v.Name)
	}
	l.fill(&v.ID)
	v.Name = or(v.Name, "Sandbox")
	if v.APIKey == "" {
		v.APIKey = l.s.ids.Token(keyPrefix)
	}
	l.st.AddKey(v)
	return nil
}
