package rulescmd

import (
	"encoding/xml"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/quandohq/quando/cmd/quando/internal/cli"
	"github.com/quandohq/quando/rules"
)

// junitTests writes the form of XML that continuous integration reads: a suite for each file, a
// case for each test.
type junitTests struct{ w io.Writer }

type junitDocument struct {
	XMLName xml.Name `xml:"testsuites"`
	Name    string   `xml:"name,attr"`
	junitCounts
	Suites []*junitSuite `xml:"testsuite"`
}

type junitCounts struct {
	Tests    int    `xml:"tests,attr"`
	Failures int    `xml:"failures,attr"`
	Errors   int    `xml:"errors,attr"`
	Skipped  int    `xml:"skipped,attr"`
	Time     string `xml:"time,attr"`
}

type junitSuite struct {
	Name string `xml:"name,attr"`
	junitCounts
	Cases []junitCase `xml:"testcase"`

	took time.Duration
}

type junitCase struct {
	Name      string        `xml:"name,attr"`
	ClassName string        `xml:"classname,attr"`
	File      string        `xml:"file,attr"`
	Time      string        `xml:"time,attr"`
	Failure   *junitFailure `xml:"failure,omitempty"`
}

type junitFailure struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr"`
	Text    string `xml:",chardata"`
}

func (j junitTests) problems(list rules.Problems) error {
	d := &junitDocument{}
	for _, p := range list {
		d.add(p.File, fmt.Sprintf("line %d, column %d", p.Line, p.Column), 0, &junitFailure{Message: cli.Harmless(p.Message), Type: string(p.Severity), Text: cli.Harmless(p.Error())})
	}
	return d.write(j.w, 0)
}

func (junitTests) outcome(*outcome) {}

func (j junitTests) end(all []*outcome, _ int, took time.Duration) error {
	d := &junitDocument{}
	for _, o := range all {
		var failure *junitFailure
		if !o.OK {
			failure = &junitFailure{Message: cli.Harmless(o.Message), Type: "expectation", Text: strings.Join(reportLines(&o.Result), "\n")}
			if o.Fault != "" {
				failure.Type = o.Fault
			}
		}
		d.add(o.Test.File, o.Test.Name, o.took, failure)
	}
	return d.write(j.w, took)
}

// add puts a case into the suite of its file.
func (d *junitDocument) add(file, name string, took time.Duration, failure *junitFailure) {
	file = cli.Harmless(filepath.ToSlash(file))
	if len(d.Suites) == 0 || d.Suites[len(d.Suites)-1].Name != file {
		d.Suites = append(d.Suites, &junitSuite{Name: file})
	}
	s := d.Suites[len(d.Suites)-1]
	s.Cases = append(s.Cases, junitCase{
		Name: cli.Harmless(name), ClassName: strings.TrimSuffix(file, filepath.Ext(file)), File: file, Time: junitTime(took), Failure: failure,
	})
	for _, c := range []*junitCounts{&d.junitCounts, &s.junitCounts} {
		c.Tests++
		if failure != nil {
			c.Failures++
		}
	}
	s.took += took
}

func (d *junitDocument) write(w io.Writer, took time.Duration) error {
	d.Name, d.Time = "quando test", junitTime(took)
	for _, s := range d.Suites {
		s.Time = junitTime(s.took)
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	e := xml.NewEncoder(w)
	e.Indent("", "  ")
	if err := e.Encode(d); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

func junitTime(d time.Duration) string { return fmt.Sprintf("%.3f", d.Seconds()) }
