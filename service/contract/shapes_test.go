package contract_test

import (
	"strings"
	"testing"

	"github.com/quandohq/quando/service"
	"github.com/quandohq/quando/service/sandbox"
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

// A file is larger than any JSON may be; a file beyond what the service takes is refused with 413
// as well.
func TestTooLargeFile(t *testing.T) {
	w := newWorld(t)
	upload := func(size int) error {
		_, err := w.UploadMedia(w.ctx, service.File{Name: "film.mp4", Size: int64(size), Content: strings.NewReader(strings.Repeat("x", size))})
		return err
	}
	noError(t, upload(1<<20))
	e := refused(t, upload(16<<20+1))
	want(t, "status", e.Status, 413)
	want(t, "code", e.Code, "body_too_large")
	want(t, "uncertain", e.Uncertain, false)
}

// A group has no contact of its own, so that an attendance which the team opens there has none.
func TestAttendanceOfAGroup(t *testing.T) {
	w := newWorld(t)
	group := must(w.CustomerMessage(sandbox.CustomerMessage{Phone: mariaPhone, Text: "hi all", Group: "Football"}))(t).Conversation.String()
	opened := must(w.CurrentAttendance(w.ctx, group))(t)
	want(t, "the contact of who wrote first", opened.ContactID, w.contact)
	must(w.CloseAttendance(w.ctx, group, ""))(t)
	must(w.TeamMessage(sandbox.TeamMessage{Conversation: "Football", Person: "Ana", Text: "anything else?"}))(t)
	current := must(w.CurrentAttendance(w.ctx, group))(t)
	a := must(w.GetAttendance(w.ctx, current.ID))(t)
	want(t, "contact", a.ContactID, "")
	if a.Contact != nil || a.Assignee == nil || a.Assignee.Name != "Ana" {
		t.Errorf("contact %+v, responsible %+v", a.Contact, a.Assignee)
	}
	want(t, "phone", must(w.GetConversation(w.ctx, group))(t).Phone, "")
}
