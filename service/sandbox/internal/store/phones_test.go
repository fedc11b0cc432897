package store

import "testing"

func TestPhones(t *testing.T) {
	for _, tt := range []struct {
		name, a, b string
		same       bool
	}{
		{"with and without the ninth digit", "+5511988887777", "+551188887777", true},
		{"however it is written", "+55 (11) 98888-7777", "5511988887777", true},
		{"without the country", "11988887777", "+5511988887777", true},
		{"another area", "+5511988887777", "+5521988887777", false},
		{"a landline stays apart", "+5511932345678", "+551132345678", false},
		{"abroad nothing is dropped", "+14155552671", "+1415552671", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := PhoneKey(tt.a) == PhoneKey(tt.b); got != tt.same {
				t.Errorf("%s and %s: %q, %q", tt.a, tt.b, PhoneKey(tt.a), PhoneKey(tt.b))
			}
		})
	}
}
