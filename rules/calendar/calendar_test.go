package calendar

import (
	"strings"
	"testing"
	"time"
)

func TestNewRefuses(t *testing.T) {
	shifts := func(s ...Shift) map[time.Weekday][]Shift { return map[time.Weekday][]Shift{time.Monday: s} }
	good := shifts(Shift{8 * time.Hour, 12 * time.Hour})
	tests := []struct {
		name string
		cfg  Config
		want string
	}{
		{"no zone", Config{Open: good}, "time zone"},
		{"no shifts", Config{Location: time.UTC, Open: shifts()}, "never open"},
		{"a shift that ends before it starts", Config{Location: time.UTC, Open: shifts(Shift{8 * time.Hour, 7 * time.Hour})}, "Monday: a shift must end after"},
		{"a shift that starts before the day", Config{Location: time.UTC, Open: shifts(Shift{-time.Hour, time.Hour})}, "must start between"},
		{"a shift that starts after the day", Config{Location: time.UTC, Open: shifts(Shift{24 * time.Hour, 25 * time.Hour})}, "must start between"},
		{"a shift of more than a day and a night", Config{Location: time.UTC, Open: shifts(Shift{time.Hour, 49 * time.Hour})}, "by the end of the day after"},
		{"half a minute", Config{Location: time.UTC, Open: shifts(Shift{0, 30 * time.Second})}, "whole minute"},
		{"an eighth weekday", Config{Location: time.UTC, Open: map[time.Weekday][]Shift{7: {{0, time.Hour}}}}, "not a day of the week"},
		{"a date that does not exist", Config{Location: time.UTC, Open: good, Holidays: []Date{{2026, 2, 30}}}, "2026-02-30 does not exist"},
		{"an unknown country", Config{Location: time.UTC, Open: good, Countries: []string{"xx"}}, `"xx" are not known`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := New(tt.cfg)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("New: %v, want an error with %q", err, tt.want)
			}
		})
	}
}
