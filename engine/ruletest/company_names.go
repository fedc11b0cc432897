package ruletest

import "github.com/quandohq/quando/service"

// snapshot returns the names of the company as a directory would keep them.
func (c *company) snapshot() service.Snapshot {
	var s service.Snapshot
	list := func(kind service.Kind, board string, items []map[string]any) {
		l := service.SnapshotList{Kind: kind, Board: board}
		for _, item := range items {
			l.Entries = append(l.Entries, service.SnapshotEntry{ID: text(item["id"]), Name: text(item["name"])})
		}
		s.Lists = append(s.Lists, l)
	}
	for part, kind := range map[string]service.Kind{
		"channels": service.KindChannel, "labels": service.KindLabel, "sectors": service.KindSector, "people": service.KindPerson, "boards": service.KindBoard,
	} {
		list(kind, "", c.lists[part])
	}
	for _, board := range c.lists["boards"] {
		stages, _ := board["stages"].([]any)
		var items []map[string]any
		for _, stage := range stages {
			fields, _ := stage.(map[string]any)
			items = append(items, fields)
		}
		list(service.KindStage, text(board["id"]), items)
	}
	return s
}
