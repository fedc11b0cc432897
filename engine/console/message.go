package console

import (
	"strings"

	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/service"
)

// messageOf reads the message of an event, where it has one that can be shown.
func (c *Console) messageOf(e rules.Event) (m service.Message, ok bool) {
	w := c.workspaces[e.Workspace]
	if w == nil || !strings.HasPrefix(e.Type, "message.") {
		return m, false
	}
	m, ok = w.Profile.EventMessage(e.Type, e.Data)
	return m, ok && (m.Text != "" || m.MediaID != "")
}
