package doctor

import (
	"context"

	"github.com/quandohq/quando/cmd/quando/internal/config"
	"github.com/quandohq/quando/service"
)

// alerts checks whether people can be told outside of the console. It sends nothing: quando alerts
// test does.
func (d *doctor) alerts(c *config.Config) {
	if c.Alerts.None() {
		return
	}
	if c.Console.PublicURL == "" {
		d.add("alerts", "", warning, "set console.public_url to the address under which people open the console", "alerts have no link to the console")
		return
	}
	d.add("alerts", "", well, "", "what needs a person is told outside; quando alerts test tries it")
}

// alertChannels checks whether the phones of alerts can be written to from the numbers that the
// configuration names.
func (v *workspaceDoctor) alertChannels(ctx context.Context) {
	names := service.NewDirectory(v.client)
	for _, person := range v.config.Alerts.People {
		workspace, phone, _ := v.config.Alerted(person)
		if workspace != v.Name {
			continue
		}
		if _, err := names.ID(ctx, service.KindChannel, phone.Channel); err != nil {
			v.found("alerts", failing, "mend the channel of "+person+" in people", "%s cannot be told: %v", person, err)
		}
	}
}
