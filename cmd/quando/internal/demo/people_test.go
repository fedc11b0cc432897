package demo

import (
	"testing"

	"github.com/quandohq/quando/cmd/quando/internal/clitest"
	"github.com/quandohq/quando/service/sandbox"
)

// TestDemoDisturbed shows that a plan which a person has made impossible is passed over, and that
// any other is an error.
func TestDemoDisturbed(t *testing.T) {
	out := &clitest.Buffer{}
	p := &people{tell: newTeller(out, startTime().Location(), startTime())}
	joao := &customer{name: "João"}
	closed := &sandbox.Error{Status: 409, Message: "the conversation has no open attendance"}
	if err := p.told(closed, startTime(), joao, func() { t.Error("it is told as done") }); err == nil {
		t.Error("a story that does not work is no error")
	}
	p.disturbed = true
	if err := p.told(closed, startTime(), joao, func() { t.Error("it is told as done") }); err != nil || !out.Contains("What was planned for João has come to nothing.") {
		t.Errorf("%v\n%s", err, out)
	}
}
