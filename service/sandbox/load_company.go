package sandbox

import (
	"encoding/json"
	"fmt"
	"time"
)

func (l *loader) company(src json.RawMessage) error {
	doc := companyDoc{l.st.tenantID, l.st.tenantName, l.st.timezone, l.st.apiCounts}
	if err := strict(src, &doc); err != nil {
		return err
	}
	if _, err := time.LoadLocation(doc.Timezone); err != nil {
		return fmt.Errorf("timezone: %w", err)
	}
	l.st.tenantID, l.st.tenantName, l.st.timezone, l.st.apiCounts = doc.ID, doc.Name, doc.Timezone, doc.APIMessagesRespond
	return nil
}

func (l *loader) rules(src json.RawMessage) error {
	rules := l.st.rules
	if err := strict(src, &rules); err != nil {
		return err
	}
	if rules.Mode != "restricted" && rules.Mode != "liberal" {
		return fmt.Errorf("mode is restricted or liberal, not %q", rules.Mode)
	}
	l.st.rules = rules
	return nil
}

func (l *loader) channel(v *Channel) error {
	if v.Name == "" {
		return errNoName
	}
	if _, err := l.st.findChannel(v.Name); err == nil || l.st.channel(v.ID) != nil {
		return l.again(v.Name)
	}
	l.fill(&v.ID)
	v.Phone = or(v.Phone, fmt.Sprintf("+5511300000%02d", len(l.st.channels)+1))
	l.st.channels = append(l.st.channels, v)
	return nil
}

func (l *loader) label(v *Label) error {
	if v.Name == "" {
		return errNoName
	}
	if _, err := l.st.findLabel(v.Name); err == nil || l.st.label(v.ID) != nil {
		return l.again(v.Name)
	}
	l.fill(&v.ID)
	v.Color = or(v.Color, "#808080")
	l.st.labels = append(l.st.labels, v)
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
	if _, err := l.st.findSector(doc.Name); err == nil || l.st.sector(doc.ID) != nil {
		return l.again(doc.Name)
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
	l.st.sectors = append(l.st.sectors, v)
	return nil
}

func (l *loader) person(v *Person) error {
	if v.Name == "" {
		return errNoName
	}
	if _, err := l.st.findPerson(v.Name); err == nil || l.st.person(v.ID) != nil {
		return l.again(v.Name)
	}
	l.fill(&v.ID)
	v.Role = or(v.Role, "agent")
	v.AccessProfile = or(v.AccessProfile, v.Role)
	v.Presence = or(v.Presence, "online")
	l.st.people = append(l.st.people, v)
	return nil
}

// board reads a board; one that is there gains the stages it lacks.
func (l *loader) board(v *Board) error {
	if v.Name == "" {
		return errNoName
	}
	to, err := l.st.findBoard(v.Name)
	if err != nil {
		to = &Board{ID: v.ID, Name: v.Name, Archived: v.Archived}
		l.fill(&to.ID)
		l.st.boards = append(l.st.boards, to)
	} else if !l.adding {
		return l.again(v.Name)
	}
	for _, stage := range v.Stages {
		if stage == nil || stage.Name == "" {
			return fmt.Errorf("%s: a stage needs a name", v.Name)
		}
		if to.stageNamed(stage.Name) != nil {
			continue
		}
		l.fill(&stage.ID)
		stage.Position = len(to.Stages) + 1
		to.Stages = append(to.Stages, stage)
	}
	return nil
}

func (l *loader) key(v *Key) error {
	if l.st.key(v.ID) != nil || l.st.secrets[v.APIKey] != nil {
		return l.again("the key " + v.Name)
	}
	l.fill(&v.ID)
	v.Name = or(v.Name, "Sandbox")
	if v.APIKey == "" {
		v.APIKey = l.s.ids.token(keyPrefix)
	}
	l.st.addKey(v)
	return nil
}
