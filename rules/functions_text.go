package rules

import (
	"fmt"
	"strings"
	"time"

	"github.com/quandohq/quando/rules/internal/spelling"
)

// says takes gathered messages too, so that a burst counts as one text.
func says(e *Evaluation, args []any) (any, error) {
	return e.findWords("says", args, func(text, words string) (bool, error) {
		return strings.Contains(text, " "+words+" "), nil
	})
}

// saysLike is says with forgiveness.
func saysLike(e *Evaluation, args []any) (any, error) {
	return e.findWords("says_like", args, func(text, words string) (bool, error) {
		spoken, wanted := strings.Fields(text), strings.Fields(words)
		for i := 0; i+len(wanted) <= len(spoken); i++ {
			if found, err := e.allAlike(spoken[i:], wanted); found || err != nil {
				return found, err
			}
		}
		return false, nil
	})
}

// findWords reports whether a message has one of the words or phrases that a function is given.
// find is called with texts as wordsIn and spelling.Plain return them.
func (e *Evaluation) findWords(function string, args []any, find func(text, words string) (bool, error)) (any, error) {
	texts, err := e.messageTexts()
	if err != nil {
		return nil, err
	}
	for _, text := range texts {
		if err := e.pay(wordCost * len(text)); err != nil {
			return nil, err
		}
		text = e.wordsIn(text)
		for _, a := range args {
			list, ok := a.([]any)
			if !ok {
				list = []any{a}
			}
			for _, item := range list {
				words, ok := item.(string)
				if !ok {
					return nil, fmt.Errorf("%s needs texts, not %s", function, inWords(item))
				}
				if err := e.pay(wordCost * len(words)); err != nil {
					return nil, err
				}
				w := spelling.Plain(words)
				if w == "" {
					continue
				}
				if found, err := find(text, w); found || err != nil {
					return found, err
				}
			}
		}
	}
	return false, nil
}

// wordsIn returns the words of a text, with a space before and behind each. It caches them, because
// many rules search the same texts.
func (e *Evaluation) wordsIn(text string) string {
	words, known := e.spoken[text]
	if !known {
		words = " " + spelling.Plain(text) + " "
		if e.spoken == nil || len(e.spoken) >= maxCachedTexts {
			e.spoken = make(map[string]string)
		}
		e.spoken[text] = words
	}
	return words
}

// maxCachedTexts bounds that cache.
const maxCachedTexts = 100

// allAlike reports whether words begin with those that are wanted, each with its own forgiveness.
func (e *Evaluation) allAlike(words, wanted []string) (bool, error) {
	for i, want := range wanted {
		if found, err := e.alike(words[i], want); !found || err != nil {
			return false, err
		}
	}
	return true, nil
}

// alike reports whether a word is the wanted one, in singular or plural, or with typing mistakes.
func (e *Evaluation) alike(word, want string) (bool, error) {
	if err := e.pay(itemCost); err != nil {
		return false, err
	}
	if spelling.Same(word, want) {
		return true, nil
	}
	if !spelling.MayBeMistyped(word, want) {
		return false, nil
	}
	if err := e.pay(editCost * (len(word) + len(want))); err != nil {
		return false, err
	}
	return spelling.Mistyped(word, want), nil
}

// extract pays like matches. Its pattern was compiled with the expression.
func extract(e *Evaluation, args []any) (any, error) {
	switch text := args[0].(type) {
	case nil:
		return nil, nil
	case string:
		p := args[1].(pattern)
		if err := e.pay(p.cost * len(text)); err != nil {
			return nil, err
		}
		match := p.FindStringSubmatchIndex(text)
		if len(match) > 2 {
			match = match[2:4]
		}
		if match == nil || match[0] < 0 {
			return nil, nil
		}
		return text[match[0]:match[1]], nil
	}
	return nil, fmt.Errorf("extract needs a text, not %s", inWords(args[0]))
}

// number reads the first number of a text.
func number(e *Evaluation, args []any) (any, error) {
	switch v := args[0].(type) {
	case nil:
		return nil, nil
	case int, float64:
		return v, nil
	case string:
		if err := e.pay(wordCost * len(v)); err != nil {
			return nil, err
		}
		if n, ok := spelling.FirstNumber(v); ok {
			return n, nil
		}
		return nil, nil
	}
	return nil, fmt.Errorf("number needs a text, not %s", inWords(args[0]))
}

// timeWords are the words of times in texts to customers, by language. A rule names the language,
// because its texts are in one, whoever reads the rule.
var timeWords = map[string]struct {
	weekdays                   [7]string
	date, dateOfYear           string // layouts
	yesterday, today, tomorrow string
	at, atOne                  string // before a time of day, and before one o'clock
	soon, day, days, and, past string
}{
	"en": {
		weekdays: [7]string{"Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"},
		date:     "Jan 2", dateOfYear: "Jan 2, 2006",
		yesterday: "yesterday", today: "today", tomorrow: "tomorrow", at: "at", atOne: "at",
		soon: "in", day: "day", days: "days", and: " ", past: "now",
	},
	"pt": {
		weekdays: [7]string{"domingo", "segunda", "terça", "quarta", "quinta", "sexta", "sábado"},
		date:     "02/01", dateOfYear: "02/01/2006",
		yesterday: "ontem", today: "hoje", tomorrow: "amanhã", at: "às", atOne: "à",
		soon: "em", day: "dia", days: "dias", and: " e ", past: "agora",
	},
}

// timeWriters are the functions that write a time for people.
var timeWriters = map[string]func(t, now time.Time, language string) string{"weekday_time": weekdayTime, "day_time": dayTime, "time_until": timeUntil}

// TimeText returns what a function of the language writes for a time, as an example.
func TimeText(function string, t, now time.Time, language string) string {
	return timeWriters[function](t, now, language)
}

// timeText returns a function of the language that writes a time for people, as seen from now.
func timeText(name string) func(*Evaluation, []any) (any, error) {
	return func(e *Evaluation, args []any) (any, error) {
		t, err := asTime(args[0])
		if err != nil {
			return nil, err
		}
		now := e.facts.Now()
		return timeWriters[name](t.In(now.Location()), now, args[1].(string)), nil
	}
}

// clockOf writes a time of day without a zero in front.
func clockOf(t time.Time) string { return fmt.Sprintf("%d:%02d", t.Hour(), t.Minute()) }

// daysAhead counts the midnights between now and a time of the same zone.
func daysAhead(t, now time.Time) int {
	date := func(t time.Time) time.Time { return time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, time.UTC) }
	return int(date(t).Sub(date(now)) / (24 * time.Hour))
}

// dateOf writes a date, with the year where it is not this one.
func dateOf(t, now time.Time, language string) string {
	if t.Year() != now.Year() {
		return t.Format(timeWords[language].dateOfYear)
	}
	return t.Format(timeWords[language].date)
}

// weekdayTime writes "Monday, 8:00". A weekday says nothing of a day that is past or a week ahead.
func weekdayTime(t, now time.Time, language string) string {
	weekday := timeWords[language].weekdays[t.Weekday()]
	if days := daysAhead(t, now); days < 0 || days > 6 {
		return weekday + ", " + dateOf(t, now, language) + ", " + clockOf(t)
	}
	return weekday + ", " + clockOf(t)
}

// dayTime writes "tomorrow at 8:00".
func dayTime(t, now time.Time, language string) string {
	w := timeWords[language]
	at := w.at
	if t.Hour() == 1 {
		at = w.atOne
	}
	day := dateOf(t, now, language)
	switch days := daysAhead(t, now); {
	case days == -1:
		day = w.yesterday
	case days == 0:
		day = w.today
	case days == 1:
		day = w.tomorrow
	case days > 1 && days < 7:
		day = w.weekdays[t.Weekday()]
	}
	return day + " " + at + " " + clockOf(t)
}

// timeUntil writes "in 3 h 20 min". It never promises less than what is left.
func timeUntil(t, now time.Time, language string) string {
	w := timeWords[language]
	left := t.Sub(now)
	if left <= 0 {
		return w.past
	}
	minutes := int((left + time.Minute - 1) / time.Minute)
	if minutes < 60 {
		return fmt.Sprintf("%s %d min", w.soon, minutes)
	}
	if minutes < 24*60 {
		if minutes%60 == 0 {
			return fmt.Sprintf("%s %d h", w.soon, minutes/60)
		}
		return fmt.Sprintf("%s %d h %d min", w.soon, minutes/60, minutes%60)
	}
	hours := (minutes + 59) / 60
	days := w.days
	if hours/24 == 1 {
		days = w.day
	}
	said := fmt.Sprintf("%s %d %s", w.soon, hours/24, days)
	if hours%24 > 0 {
		said += fmt.Sprintf("%s%d h", w.and, hours%24)
	}
	return said
}
