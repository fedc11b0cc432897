package contract_test

import (
	"strings"
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

// A file is larger than any JSON may be; a file beyond what the service takes is refused with 413 as well.
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
