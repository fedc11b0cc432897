package calendar

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestParseShift(t *testing.T) {
	hm := func(h, m int) time.Duration { return time.Duration(h)*time.Hour + time.Duration(m)*time.Minute }
	tests := []struct {
		in   string
		want Shift
		err  string
	}{
		{in: "08:00-12:00", want: Shift{hm(8, 0), hm(12, 0)}},
		{in: "9:00-18:00", want: Shift{hm(9, 0), hm(18, 0)}},
		{in: " 13:30 - 18:05 ", want: Shift{hm(13, 30), hm(18, 5)}},
		{in: "22:00-02:00", want: Shift{hm(22, 0), hm(26, 0)}},
		{in: "18:00-00:00", want: Shift{hm(18, 0), hm(24, 0)}},
		{in: "00:00-24:00", want: Shift{0, hm(24, 0)}},
		{in: "23:59-23:58", want: Shift{hm(23, 59), hm(47, 58)}},
		{in: "00:00-00:00", err: "write 00:00-24:00 for the whole day"},
		{in: "08:00-08:00", err: "ends when it starts"},
		{in: "24:00-02:00", err: "cannot start at 24:00"},
		{in: "25:00-26:00", err: `"25:00" is not a time of day between 00:00 and 24:00`},
		{in: "08:00-24:01", err: `"24:01" is not a time of day`},
		{in: "08:60-12:00", err: `"08:60" is not a time of day`},
		{in: "08:0-12:00", err: `"08:0" is not a time of day`},
		{in: "8-12", err: `"8" is not a time of day`},
		{in: "+8:00-12:00", err: `"+8:00" is not a time of day`},
		{in: "08:00:00-12:00", err: `"08:00:00" is not a time of day`},
		{in: "08:00", err: `"08:00" is not a shift`},
		{in: "", err: `"" is not a shift`},
	}
	for _, tt := range tests {
		t.Run(tt.in, func(t *testing.T) {
			got, err := ParseShift(tt.in)
			if !matches(err, tt.err) || got != tt.want {
				t.Errorf("ParseShift = %v, %v, want %v, %q", got, err, tt.want, tt.err)
			}
		})
	}
}

func TestParseDays(t *testing.T) {
	tests := []struct{ in, want, err string }{
		{in: "mon", want: "[Monday]"},
		{in: "Wednesday", want: "[Wednesday]"},
		{in: "mon-fri", want: "[Monday Tuesday Wednesday Thursday Friday]"},
		{in: "fri-mon", want: "[Friday Saturday Sunday Monday]"},
		{in: "SAT, Sun", want: "[Saturday Sunday]"},
		{in: "sat,sun", want: "[Saturday Sunday]"},
		{in: "mon - tuesday, tue, fri", want: "[Monday Tuesday Friday]"},
		{in: "tue-tue", want: "[Tuesday]"},
		{in: "daily", want: "[Monday Tuesday Wednesday Thursday Friday Saturday Sunday]"},
		{in: "tues", err: `"tues" is not a day (did you mean tue?): write mon, tue`},
		{in: "mon-frday", err: `"frday" is not a day (did you mean fri?)`},
		{in: "seg", err: `"seg" is not a day (did you mean mon?): write mon, tue`},
		{in: "mon,", err: `"" is not a day`},
		{in: "", err: `"" is not a day`},
		{in: "mon-wed-fri", err: `"wed-fri" is not a day`},
	}
	for _, tt := range tests {
		t.Run(tt.in, func(t *testing.T) {
			got, err := ParseDays(tt.in)
			text := ""
			if got != nil {
				text = fmt.Sprint(got)
			}
			if !matches(err, tt.err) || text != tt.want {
				t.Errorf("ParseDays = %s, %v, want %s, %q", text, err, tt.want, tt.err)
			}
		})
	}
}

func TestParseDate(t *testing.T) {
	tests := []struct {
		in   string
		want Date
		err  string
	}{
		{in: "2026-12-24", want: Date{2026, time.December, 24}},
		{in: "2028-02-29", want: Date{2028, time.February, 29}},
		{in: "2026-02-30", err: `"2026-02-30" is not a date`},
		{in: "2026-13-01", err: "is not a date"},
		{in: "24/12/2026", err: "for example 2026-12-24"},
		{in: "2026-1-2", err: "is not a date"},
		{in: "", err: "is not a date"},
	}
	for _, tt := range tests {
		t.Run(tt.in, func(t *testing.T) {
			got, err := ParseDate(tt.in)
			if !matches(err, tt.err) || got != tt.want {
				t.Errorf("ParseDate = %v, %v, want %v, %q", got, err, tt.want, tt.err)
			}
			if err == nil && got.String() != tt.in {
				t.Errorf("String = %s, want %s", got, tt.in)
			}
		})
	}
}

func TestDateCompare(t *testing.T) {
	ascending := []Date{{2025, 12, 31}, {2026, 1, 2}, {2026, 2, 1}, {2026, 2, 2}}
	for i, a := range ascending {
		var got, want []int
		for j, b := range ascending {
			got = append(got, a.Compare(b))
			want = append(want, max(-1, min(1, i-j)))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s compared with %v (-want +got):\n%s", a, ascending, diff)
		}
	}
}

// matches reports whether an error says what is wanted; nothing wanted is no error.
func matches(err error, want string) bool {
	if err == nil || want == "" {
		return err == nil && want == ""
	}
	return strings.Contains(err.Error(), want)
}
