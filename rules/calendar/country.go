package calendar

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/rickar/cal/v2"
	"github.com/rickar/cal/v2/aa"
	"github.com/rickar/cal/v2/ar"
	"github.com/rickar/cal/v2/at"
	"github.com/rickar/cal/v2/be"
	"github.com/rickar/cal/v2/bg"
	"github.com/rickar/cal/v2/br"
	"github.com/rickar/cal/v2/ca"
	"github.com/rickar/cal/v2/ch"
	"github.com/rickar/cal/v2/cz"
	"github.com/rickar/cal/v2/de"
	"github.com/rickar/cal/v2/dk"
	"github.com/rickar/cal/v2/es"
	"github.com/rickar/cal/v2/fr"
	"github.com/rickar/cal/v2/gb"
	"github.com/rickar/cal/v2/gr"
	"github.com/rickar/cal/v2/hr"
	"github.com/rickar/cal/v2/ie"
	"github.com/rickar/cal/v2/it"
	"github.com/rickar/cal/v2/jp"
	"github.com/rickar/cal/v2/lt"
	"github.com/rickar/cal/v2/lv"
	"github.com/rickar/cal/v2/mw"
	"github.com/rickar/cal/v2/nc"
	"github.com/rickar/cal/v2/nl"
	"github.com/rickar/cal/v2/no"
	"github.com/rickar/cal/v2/nz"
	"github.com/rickar/cal/v2/pl"
	"github.com/rickar/cal/v2/ro"
	"github.com/rickar/cal/v2/ru"
	"github.com/rickar/cal/v2/se"
	"github.com/rickar/cal/v2/si"
	"github.com/rickar/cal/v2/sk"
	"github.com/rickar/cal/v2/ua"
	"github.com/rickar/cal/v2/us"
	"github.com/rickar/cal/v2/za"
)

// countries holds the national holidays by ISO code: the library's lists as they are, except where
// named otherwise. Laws change faster than lists, which is why a calendar takes dates and .ics
// files beside them. Australia is not among them: its holidays are those of its states.
var countries = map[string][]*cal.Holiday{
	"ar": argentina,
	"at": at.Holidays,
	"be": be.Holidays,
	"bg": bg.Holidays,
	"br": brazil,
	"ca": ca.Holidays,
	"ch": ch.Holidays,
	"cz": cz.Holidays,
	"de": de.Holidays,
	"dk": dk.Holidays,
	"es": es.Holidays,
	"fr": fr.Holidays,
	"gb": gb.Holidays,
	"gr": gr.Holidays,
	"hr": hr.Holidays,
	"ie": ie.Holidays,
	"it": it.Holidays,
	"jp": jp.Holidays,
	"lt": lt.Holidays,
	"lv": lv.Holidays,
	"mw": mw.Holidays,
	"nc": nc.Holidays,
	"nl": nl.Holidays,
	"no": no.Holidays,
	"nz": nz.Holidays,
	"pl": pl.Holidays,
	"ro": ro.Holidays,
	"ru": ru.Holidays,
	"se": se.Holidays,
	"si": si.Holidays,
	"sk": sk.Holidays,
	"ua": ua.Holidays,
	"us": us.Holidays,
	"za": za.Holidays,
}

// brazil lists the national holidays by law. Carnival and Corpus Christi are not among them: they
// are optional points (pontos facultativos), which each employer and city decides on. A desk that
// closes on them lists their dates.
var brazil = []*cal.Holiday{
	br.AnoNovo,
	br.SextaFeiraSanta,
	br.Tiradentes,
	br.Trabalhador,
	br.Independencia,
	br.NossaSenhoraAparecida,
	br.Finados,
	br.Republica,
	{
		Name:      "Dia Nacional de Zumbi e da Consciência Negra",
		Type:      cal.ObservancePublic,
		StartYear: 2024, // Law 14,759 of 2023
		Month:     time.November,
		Day:       20,
		Func:      cal.CalcDayOfMonth,
	},
	br.Natal,
}

// argentina is the library's list with Good Friday on the Friday: there it is a day early.
var argentina = append(
	slices.DeleteFunc(slices.Clone(ar.Holidays), func(h *cal.Holiday) bool { return h == ar.EasternsDay }),
	aa.GoodFriday.Clone(&cal.Holiday{Name: "Viernes Santo", Type: cal.ObservancePublic}),
)

// Countries returns the codes of the countries whose national holidays are known, in order.
func Countries() []string { return slices.Sorted(maps.Keys(countries)) }

// IsCountry reports whether the national holidays of a country are known. The code may be in either
// case.
func IsCountry(code string) bool {
	_, ok := countries[strings.ToLower(code)]
	return ok
}
