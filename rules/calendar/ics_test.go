package calendar

import (
	"fmt"
	"strings"
	"testing"
)

// ics puts lines into a calendar; the first of them is line 2 of the file.
func ics(lines ...string) string {
	return "BEGIN:VCALENDAR\r\n" + strings.Join(lines, "\r\n") + "\r\nEND:VCALENDAR\r\n"
}

// vevent puts lines into an event in a calendar; the first of them is line 3 of the file.
func vevent(lines ...string) string {
	return ics("BEGIN:VEVENT\r\n"+strings.Join(lines, "\r\n"), "END:VEVENT")
}

func TestParseICS(t *testing.T) {
	tests := []struct {
		name string
		src  string
		want string
	}{
		{"a whole day", vevent("DTSTART;VALUE=DATE:20261224"), "2026-12-24"},
		{"a date without saying so", vevent("DTSTART:20261224"), "2026-12-24"},
		{"an exclusive end", vevent("DTSTART;VALUE=DATE:20261224", "DTEND;VALUE=DATE:20261227"), "2026-12-24 2026-12-25 2026-12-26"},
		{"an end on the same day", vevent("DTSTART;VALUE=DATE:20261224", "DTEND;VALUE=DATE:20261224"), "2026-12-24"},
		{"a time of the calendar's own zone", vevent("DTSTART;TZID=America/Sao_Paulo:20261224T230000", "DTEND;TZID=America/Sao_Paulo:20261224T235900"), "2026-12-24 23:00-23:59"},
		{"a time without a zone", vevent("DTSTART:20261224T140000", "DTEND:20261224T180000"), "2026-12-24 14:00-18:00"},
		{"a time in UTC", vevent("DTSTART:20261224T010000Z", "DTEND:20261224T020000Z"), "2026-12-23 22:00-23:00"},
		{"a time in another zone", vevent(`DTSTART;TZID="Europe/Lisbon":20261224T120000`, "DTEND;tzid=Europe/Lisbon:20261224T130000"), "2026-12-24 09:00-10:00"},
		{"a start and an end in two zones", vevent("DTSTART;TZID=Europe/Lisbon:20261224T120000", "DTEND:20261224T120000"), "2026-12-24 09:00-12:00"},
		{"summer time of another zone, every year anew", vevent("DTSTART;TZID=America/New_York:20250310T120000", "DTEND;TZID=America/New_York:20250310T130000", "RRULE:FREQ=YEARLY;COUNT=2"),
			"2025-03-10 13:00-14:00 2026-03-10 13:00-14:00"},
		{"a time that ends at midnight", vevent("DTSTART:20261224T120000", "DTEND:20261225T000000"), "2026-12-24 12:00-24:00"},
		{"a time that ends after midnight", vevent("DTSTART:20261224T120000", "DTEND:20261225T000001"), "2026-12-24 12:00-24:00 2026-12-25 00:00-00:01"},
		{"a time over several days", vevent("DTSTART:20261224T120000", "DTEND:20261226T093000"), "2026-12-24 12:00-24:00 2026-12-25 00:00-24:00 2026-12-26 00:00-09:30"},
		{"parts of minutes are whole", vevent("DTSTART:20261224T120059", "DTEND:20261224T130001"), "2026-12-24 12:00-13:01"},
		{"the hour that is set back", vevent("DTSTART:20180218T013000Z", "DTEND:20180218T023000Z"), "2018-02-17 23:30-24:00 2018-02-18 00:00-00:30"},
		{"a time excluded in UTC", vevent("DTSTART;TZID=America/Sao_Paulo:20261224T220000", "DURATION:PT1H", "RRULE:FREQ=YEARLY;COUNT=2", "EXDATE:20271225T010000Z"), "2026-12-24 22:00-23:00"},
		{"a time until just before it", vevent("DTSTART:20261224T220000", "DURATION:PT1H", "RRULE:FREQ=YEARLY;UNTIL=20271225T005959Z"), "2026-12-24 22:00-23:00"},
		{"a time until itself", vevent("DTSTART:20261224T220000", "DURATION:PT1H", "RRULE:FREQ=YEARLY;UNTIL=20271225T010000Z"), "2026-12-24 22:00-23:00 2027-12-24 22:00-23:00"},
		{"a time moved to another one", ics("BEGIN:VEVENT\nUID:a\nDTSTART:20261224T100000\nDURATION:PT1H\nRRULE:FREQ=YEARLY;COUNT=2\nEND:VEVENT",
			"BEGIN:VEVENT\nUID:a\nRECURRENCE-ID:20271224T130000Z\nDTSTART:20271223T150000\nDURATION:PT2H\nEND:VEVENT"), "2026-12-24 10:00-11:00 2027-12-23 15:00-17:00"},
		{"a day and hours", ics("BEGIN:VEVENT\nDTSTART:20261225\nEND:VEVENT\nBEGIN:VEVENT\nDTSTART:20261224T120000\nDURATION:PT1H\nEND:VEVENT"), "2026-12-25 2026-12-24 12:00-13:00"},
		{"a length in days", vevent("DTSTART:20261224", "DURATION:P2D"), "2026-12-24 2026-12-25"},
		{"a length in weeks and one in hours", ics("BEGIN:VEVENT\nDTSTART:20261201\nDURATION:P1W\nEND:VEVENT\nBEGIN:VEVENT\nDTSTART:20261224T200000\nDURATION:PT5H30M\nEND:VEVENT"),
			"2026-12-01 2026-12-02 2026-12-03 2026-12-04 2026-12-05 2026-12-06 2026-12-07 2026-12-24 20:00-24:00 2026-12-25 00:00-01:30"},
		{"folded lines", vevent("DTSTART;VALUE=", " DATE:2026", "\t1224", "SUMMARY:a long", " DTSTART:20200101"), "2026-12-24"},
		{"a quoted parameter with a colon", vevent(`DTSTART;X-WHERE="a:b;c":20261224`), "2026-12-24"},
		{"LF, lower case, a byte order mark and empty lines", "\ufeff\nbegin:vcalendar\n\nbegin:vevent\ndtstart:20261224\nend:vevent\nend:vcalendar", "2026-12-24"},
		{"in order, each once", ics("BEGIN:VEVENT\nDTSTART:20261225\nEND:VEVENT\nBEGIN:VEVENT\nDTSTART:20261224\nDTEND:20261226\nEND:VEVENT"), "2026-12-24 2026-12-25"},
		{"no events", ics("PRODID:x"), ""},
		{"a cancelled event", vevent("DTSTART:20261224", "STATUS:CANCELLED"), ""},
		{"a free day is still a holiday", vevent("DTSTART:20261224", "TRANSP:TRANSPARENT"), "2026-12-24"},
		{"zones, alarms and to-dos do not count", ics(
			"BEGIN:VTIMEZONE\nBEGIN:DAYLIGHT\nDTSTART:19700101T000000\nRRULE:FREQ=YEARLY;BYDAY=1SU;BYMONTH=3\nEND:DAYLIGHT\nEND:VTIMEZONE",
			"BEGIN:VTODO\nDTSTART:20260101\nEND:VTODO",
			"BEGIN:VEVENT\nDTSTART:20261224\nBEGIN:VALARM\nTRIGGER:-PT15M\nDURATION:P9D\nEND:VALARM\nEND:VEVENT"), "2026-12-24"},
		{"yearly with a count", vevent("DTSTART:20261224", "RRULE:FREQ=YEARLY;COUNT=3"), "2026-12-24 2027-12-24 2028-12-24"},
		{"yearly until a date", vevent("DTSTART:20261224", "RRULE:FREQ=YEARLY;UNTIL=20271224"), "2026-12-24 2027-12-24"},
		{"yearly until the day before", vevent("DTSTART:20261224", "RRULE:FREQ=YEARLY;UNTIL=20271223T235959Z"), "2026-12-24"},
		{"yearly for ever", vevent("DTSTART:20981224", "RRULE:FREQ=YEARLY"), "2098-12-24 2099-12-24 2100-12-24"},
		{"every two years", vevent("DTSTART:20261224", "RRULE:FREQ=YEARLY;INTERVAL=2;COUNT=2"), "2026-12-24 2028-12-24"},
		{"yearly with its own month and day", vevent("DTSTART:20261224", "RRULE:FREQ=YEARLY;BYMONTH=12;BYMONTHDAY=24;WKST=MO;COUNT=2"), "2026-12-24 2027-12-24"},
		{"yearly on 29 February", vevent("DTSTART:20240229", "RRULE:FREQ=YEARLY;COUNT=3"), "2024-02-29 2028-02-29 2032-02-29"},
		{"yearly over the turn of the year", vevent("DTSTART:20261231", "DTEND:20270102", "RRULE:FREQ=YEARLY;COUNT=2"), "2026-12-31 2027-01-01 2027-12-31 2028-01-01"},
		{"a yearly event that starts after the last year", vevent("DTSTART:21501224", "RRULE:FREQ=YEARLY"), ""},
		{"excluded dates count in COUNT", vevent("DTSTART:20261224", "RRULE:FREQ=YEARLY;COUNT=4", "EXDATE;VALUE=DATE:20271224,20281224"), "2026-12-24 2029-12-24"},
		{"further dates", vevent("DTSTART:20261224", "RDATE;VALUE=DATE:20270301,20270401"), "2026-12-24 2027-03-01 2027-04-01"},
		{"an occurrence moved to another date", ics("BEGIN:VEVENT\nUID:a\nDTSTART:20261224\nRRULE:FREQ=YEARLY;COUNT=2\nEND:VEVENT",
			"BEGIN:VEVENT\nUID:a\nRECURRENCE-ID:20271224\nDTSTART:20271223\nEND:VEVENT"), "2026-12-24 2027-12-23"},
		{"an occurrence cancelled", ics("BEGIN:VEVENT\nUID:a\nRECURRENCE-ID:20271224\nDTSTART:20271224\nSTATUS:CANCELLED\nEND:VEVENT",
			"BEGIN:VEVENT\nUID:a\nDTSTART:20261224\nRRULE:FREQ=YEARLY;COUNT=2\nEND:VEVENT"), "2026-12-24"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			days, hours, err := ParseICS([]byte(tt.src), mustZone(t, "America/Sao_Paulo"))
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(strings.Fields(strings.Trim(fmt.Sprint(days), "[]")+" "+strings.Trim(fmt.Sprint(hours), "[]")), " "); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

func TestParseICSRefuses(t *testing.T) {
	many := strings.Repeat("BEGIN:VEVENT\nDTSTART:20260101\nDTEND:20270101\nEND:VEVENT\n", 14)
	tests := []struct {
		name string
		src  string
		want string
	}{
		{"another kind of file", "<html>\n", "line 1: this is not an iCalendar file"},
		{"something after the calendar", ics("VERSION:2.0") + "more", "line 4: this is not an iCalendar file"},
		{"a file that is cut short", "BEGIN:VCALENDAR\nBEGIN:VEVENT\nDTSTART:20261224", "line 2: BEGIN:VEVENT has no END"},
		{"an end of something else", ics("BEGIN:VEVENT", "END:VTODO"), "line 3: END:VEVENT is expected here"},
		{"a line without a colon", ics("", "SUMMARY"), `line 3: "SUMMARY" is not a property`},
		{"an event without a start", vevent("SUMMARY:x"), "line 2: the event has no DTSTART"},
		{"an event that ends before it starts", vevent("DTSTART:20261224", "DTEND:20261223"), "line 2: the event ends before it starts"},
		{"a time without an end", vevent("DTSTART:20261224T090000"), "line 2: the event has a time and ends when it starts: give it a DTEND, or a DTSTART without a time"},
		{"an unknown zone", vevent("SUMMARY:x", "DTSTART;TZID=E. South America Standard Time:20261224T090000"), `line 4: the time zone "E. South America Standard Time" of TZID is unknown: an IANA name`},
		{"the zone of the machine", vevent("DTSTART;TZID=Local:20261224T090000"), `line 3: the time zone "Local" of TZID is unknown`},
		{"a further date at another time", vevent("DTSTART:20261224T090000", "DURATION:PT1H", "RDATE:20270301T100000"), "line 2: an RDATE of the event has another time than its DTSTART"},
		{"a date in another form", vevent("SUMMARY:x", "DTSTART:2026-12-24"), `line 4: DTSTART "2026-12-24" is not a date that exists: write it as 20261224`},
		{"a date that does not exist", vevent("DTSTART:20260230"), `line 3: DTSTART "20260230" is not a date that exists`},
		{"an exception in another form", vevent("DTSTART:20261224", "EXDATE:tomorrow"), "line 4: EXDATE"},
		{"an unknown length", vevent("DTSTART:20261224", "DURATION:-P1D"), "line 4: DURATION"},
		{"weekly", vevent("DTSTART:20261224", "SUMMARY:a", " b", "RRULE:FREQ=WEEKLY"), `line 6: RRULE with "FREQ=WEEKLY" is not supported, only FREQ=YEARLY`},
		{"a weekday of a month", vevent("DTSTART:20261126", "RRULE:FREQ=YEARLY;BYMONTH=11;BYDAY=4TH"), `line 4: RRULE with "BYDAY=4TH" is not supported`},
		{"another month", vevent("DTSTART:20261126", "RRULE:FREQ=YEARLY;BYMONTH=12"), `RRULE with "BYMONTH=12" is not supported`},
		{"a day of every month", vevent("DTSTART:20261126", "RRULE:FREQ=YEARLY;BYMONTHDAY=26"), `RRULE with "BYMONTHDAY=26" is not supported`},
		{"no frequency", vevent("DTSTART:20261224", "RRULE:COUNT=3"), `RRULE with "COUNT=3" is not supported`},
		{"a count of nothing", vevent("DTSTART:20261224", "RRULE:FREQ=YEARLY;COUNT=0"), `"COUNT=0" is not supported`},
		{"two rules", vevent("DTSTART:20261224", "RRULE:FREQ=YEARLY", "RRULE:FREQ=YEARLY"), "line 5: the event has a second RRULE"},
		{"a rule of exceptions", vevent("DTSTART:20261224", "EXRULE:FREQ=YEARLY"), "line 4: EXRULE is not supported"},
		{"a change of all that follow", vevent("DTSTART:20261224", "RECURRENCE-ID;RANGE=THISANDFUTURE:20261224"), "line 4: RECURRENCE-ID with RANGE"},
		{"a large file", strings.Repeat("x", maxICSBytes+1), "the file has 257 KiB, but at most 256 are read"},
		{"a very long event", vevent("DTSTART:20000101", "DTEND:20400101"), "line 2: with this event the file covers more than 5000 dates"},
		{"many events", ics(many), "line 54: with this event the file covers more than 5000 dates"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dates, _, err := ParseICS([]byte(tt.src), mustZone(t, "America/Sao_Paulo"))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("ParseICS = %v, %v, want an error with %q", dates, err, tt.want)
			}
		})
	}
}
