package console

import (
	"cmp"
	"html/template"
	"net/url"
	"regexp"
	"slices"
	"sync"
	"time"
)

// A place is an entry of the menu. Name is what its words and its pages are found by.
type place struct {
	Name, Link, Icon string
	Spaces           bool // its list can be bounded to a workspace
	Bar              bool // it is in the bar at the bottom of a phone
	Current          bool
}

// A menuGroup is a part of the menu.
type menuGroup struct {
	Name   string // empty is the first, which has no name
	Places []place
}

// menu is the side bar. A page is at the place that has its name.
var menu = []menuGroup{
	{"", []place{
		{Name: "today", Link: "/", Icon: "home", Bar: true},
		{Name: "activity", Link: "/activity", Icon: "activity", Spaces: true, Bar: true},
		{Name: "conversations", Link: "/conversations", Icon: "users", Bar: true},
		{Name: "rules", Link: "/rules", Icon: "rules", Spaces: true, Bar: true},
		{Name: "calendars", Link: "/calendars", Icon: "calendar"},
	}},
	{"try", []place{{Name: "simulator", Link: "/simulator", Icon: "play"}}},
	{"system", []place{{Name: "health", Link: "/health", Icon: "heart"}, {Name: "audit", Link: "/audit", Icon: "file"}}},
}

// A choice is one of several links.
type choice struct {
	Label, Link string // an empty label is all of them
	Chosen      bool
}

// frame fills in what stands around a page: the menu, and where in it the page is.
func (q *request) frame(p *page, nav string) {
	here, _ := url.Parse(p.Here) // an address of our own
	chosen := here.Query().Get("workspace")
	if q.console.workspaces[chosen] == nil || len(q.console.workspaces) == 1 {
		chosen = ""
	}
	target := "/activity" // what a workspace is chosen for, where the page is of all of them
	for _, group := range menu {
		if group.Name == "try" && len(q.console.simulators()) == 0 {
			continue
		}
		group.Places = slices.Clone(group.Places)
		for i := range group.Places {
			one := &group.Places[i]
			one.Current = one.Name == nav
			if one.Current && p.Title != q.words().T("nav."+one.Name) {
				crumb := *one
				p.Crumb = &crumb
			}
			if one.Current && one.Spaces && here.Path == one.Link {
				target = here.Path
			}
			if one.Spaces && chosen != "" {
				one.Link += "?workspace=" + escapeQuery(chosen)
			}
		}
		p.Menu = append(p.Menu, group)
	}
	for _, name := range q.console.spaces() {
		if len(p.Spaces) == 0 {
			p.Spaces = []choice{{Link: target, Chosen: chosen == ""}}
		}
		p.Spaces = append(p.Spaces, choice{name, target + "?workspace=" + escapeQuery(name), name == chosen})
	}
}

// Bar are the places at the bottom of a phone.
func (p page) Bar() (list []place) {
	for _, group := range p.Menu {
		for _, one := range group.Places {
			if one.Bar {
				list = append(list, one)
			}
		}
	}
	return list
}

// iconNames are the names that templates of rules have for icons of the sprite.
var iconNames = map[string]string{"card": "layout", "chat": "message"}

// icon shows an icon of the sprite.
func icon(name string) template.HTML {
	name = template.HTMLEscapeString(cmp.Or(iconNames[name], name))
	return template.HTML(`<svg class="icon" aria-hidden="true"><use href="/assets/icons.svg#` + name + `"/></svg>`)
}

// partsPage shows every part that pages are made of.
type partsPage struct {
	Now   time.Time
	Icons []string
}

var symbol = regexp.MustCompile(`<symbol id="([^"]+)"`)

// parts shows every part that pages are made of, for those who build a page.
func (c *Console) parts(q *request) error {
	p := partsPage{Now: c.at("", q.now)}
	sprite, err := assets.ReadFile("assets/icons.svg")
	if err != nil {
		return err
	}
	for _, found := range symbol.FindAllSubmatch(sprite, -1) {
		p.Icons = append(p.Icons, string(found[1]))
	}
	return q.show("partspage", "", q.words().T("parts.title"), p)
}

// needsEvery is the shortest time between two counts of the needs.
const needsEvery = 2 * time.Second

// needsCount caches how many things need a person: every page shows the number.
type needsCount struct {
	mu    sync.Mutex
	n     int
	at    time.Time
	known bool
}

// set records a count.
func (k *needsCount) set(n int, now time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.n, k.at, k.known = n, now, true
}

// forget makes the next page count again.
func (k *needsCount) forget() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.known = false
}

// countNeeds returns how many things need a person. While one page looks them up, others wait for
// its result.
func (c *Console) countNeeds(q *request) (int, error) {
	k := &c.counted
	k.mu.Lock()
	defer k.mu.Unlock()
	if age := q.now.Sub(k.at); k.known && age >= 0 && age < needsEvery {
		return k.n, nil
	}
	list, err := c.needs(q)
	if err != nil {
		return 0, err
	}
	k.n, k.at, k.known = len(list), q.now, true
	return k.n, nil
}
