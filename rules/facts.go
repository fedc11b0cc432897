package rules

import (
	"slices"

	"github.com/quandohq/quando/rules/vocabulary"
)

// The types of the facts.
var (
	MessageType      = factOf(vocabulary.Message)
	ConversationType = factOf(vocabulary.Conversation)
	ContactType      = factOf(vocabulary.Contact)
	AttendanceType   = factOf(vocabulary.Attendance)
	CardType         = factOf(vocabulary.Card)
	EventType        = factOf(vocabulary.Happening)
)

// The types of verb results that are no facts.
var (
	// AssignmentType is one entry of a conversation's history of responsible persons.
	AssignmentType = Object(
		Field{"action", Text, "who did what: `taken`, `received` or `handed_back`", nil},
		Field{"person", Text, "the id of the person it went to, or nil", nil},
		Field{"sector", Text, "the id of the sector it went to, or nil", nil},
		Field{"reason", Text, "the reason given, or nil", nil},
		Field{"at", Time, "when", nil},
	)
	// ReportType is the manager report's totals of a period.
	ReportType = Object(
		Field{"opened", Number, "attendances opened", nil},
		Field{"closed", Number, "attendances closed", nil},
		Field{"first_response_seconds", Number, "the mean time to the first response, or nil", nil},
		Field{"resolution_seconds", Number, "the mean time to the closing, or nil", nil},
		Field{"by_person", ListOf(Anything), "the same per person", nil},
		Field{"by_sector", ListOf(Anything), "the same per sector", nil},
		Field{"by_day", ListOf(Anything), "the same per day", nil},
	)
)

// facts are the names that every expression may see, provided that what started the rule has them.
var facts = func() (list []Field) {
	for _, f := range vocabulary.Facts() {
		list = append(list, Field{f.Name, factOf(f.Name), f.Doc, nil})
	}
	return list
}()

// changing are the facts that may have changed after a wait.
var changing = func() (names []vocabulary.Fact) {
	for _, f := range vocabulary.Facts() {
		if !f.Lasting {
			names = append(names, f.Name)
		}
	}
	return names
}()

// madeTypes caches the types of facts.
var madeTypes = map[vocabulary.Fact]*Type{}

// factOf returns the type of a fact, nil if there is none of that name.
func factOf(name vocabulary.Fact) *Type {
	f := vocabulary.FactOf(name)
	if f == nil || madeTypes[name] != nil {
		return madeTypes[name]
	}
	if f.ListOf != "" {
		madeTypes[name] = ListOf(factOf(f.ListOf))
		return madeTypes[name]
	}
	fields := make([]Field, len(f.Fields))
	for i, field := range f.Fields {
		t := fieldTypes[field.Type]
		if t == nil {
			t = factOf(vocabulary.Fact(field.Type))
		}
		fields[i] = Field{field.Name, t, field.Doc, field.Values}
	}
	madeTypes[name] = Object(fields...)
	return madeTypes[name]
}

var fieldTypes = map[vocabulary.Type]*Type{
	vocabulary.Text: Text, vocabulary.Texts: ListOf(Text), vocabulary.Number: Number, vocabulary.Flag: Flag,
	vocabulary.Time: Time, vocabulary.Duration: Duration, vocabulary.Anything: Anything,
}

// FactTypes returns the names that expressions may see, with their types.
func FactTypes() []Field { return slices.Clone(facts) }

func factType(name string) *Type { return madeTypes[name] }

var eventNames = vocabulary.EventTypes()

// eachFacts are the facts that come with an item of a schedule's each.
var eachFacts = map[string][]vocabulary.Fact{
	"attendances":   {vocabulary.Happening, vocabulary.Conversation, vocabulary.Contact, vocabulary.Attendance},
	"conversations": {vocabulary.Happening, vocabulary.Conversation, vocabulary.Contact, vocabulary.Attendance},
	"contacts":      {vocabulary.Happening, vocabulary.Contact},
	"cards":         {vocabulary.Happening, vocabulary.Card, vocabulary.Conversation, vocabulary.Contact, vocabulary.Attendance},
}

// factsOf returns the facts that come with an event, or with an item of a schedule's each.
func factsOf(source string) []vocabulary.Fact {
	if e := vocabulary.EventOf(source); e != nil {
		return slices.Clone(e.Facts)
	}
	if list := eachFacts[source]; list != nil {
		return slices.Clone(list)
	}
	return []vocabulary.Fact{vocabulary.Happening}
}
