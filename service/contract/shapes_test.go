package contract_test

import (
	"testing"

	"github.com/quandohq/quando/service"
)

// What has nobody responsible is a row of the report too, without an id.
func TestReportOfNobody(t *testing.T) {
	w := newWorld(t)
	r := must(w.AttendanceReport(w.ctx, service.ReportQuery{From: friday, To: friday}))(t)
	if len(r.ByPerson) != 1 || r.ByPerson[0].ID != "" || r.ByPerson[0].Name != "" || r.ByPerson[0].Opened != 1 {
		t.Errorf("by person: %+v", r.ByPerson)
	}
	if len(r.BySector) != 1 || r.BySector[0].ID != "" || r.BySector[0].Opened != 1 {
		t.Errorf("by sector: %+v", r.BySector)
	}
}
