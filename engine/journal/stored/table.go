package stored

// A Kind is the type of a column.
type Kind int

// The kinds of columns. In a row their values are an int64, a string, a bool, and a string of JSON;
// NULL is nil.
const (
	Number Kind = iota
	Texts
	Flag
	JSON
)

// A Column is a column of a table.
type Column struct {
	Name string
	Kind Kind
}

// A Table is a table of a journal in the form that all databases share, so that rows can be copied
// between any two. The first Key columns are the primary key, and rows are read in its order.
type Table struct {
	Name    string
	Key     int
	Columns []Column
}

// numbers, texts, flags and values return columns of a kind.
func numbers(names ...string) []Column { return columns(Number, names) }
func texts(names ...string) []Column   { return columns(Texts, names) }
func flags(names ...string) []Column   { return columns(Flag, names) }
func values(names ...string) []Column  { return columns(JSON, names) }

func columns(k Kind, names []string) (list []Column) {
	for _, name := range names {
		list = append(list, Column{name, k})
	}
	return list
}

func table(name string, key int, parts ...[]Column) *Table {
	t := &Table{Name: name, Key: key}
	for _, part := range parts {
		t.Columns = append(t.Columns, part...)
	}
	return t
}

// Tables are all tables of a journal except the claims: a journal that no engine uses has none.
var Tables = []*Table{
	table("events", 1, numbers("seq"), texts("workspace", "id", "type", "rule", "tenant", "lane"), numbers("created_at", "received_at"), flags("decided"), values("data", "verdicts", "answers")),
	table("runs", 1, numbers("id"), texts("key", "workspace", "rule", "version"), numbers("event"), values("gathered"), texts("home", "lane", "by", "state"), flags("finished"), texts("stage"),
		values("ancestry", "about"), numbers("started_at", "wake_at", "finished_at"), texts("reason"), values("asked")),
	table("steps", 2, numbers("run", "n"), texts("path", "verb", "key", "state"), numbers("attempts"), texts("error", "record")),
	table("lanes", 2, texts("workspace", "lane"), numbers("due_at", "news")),
	table("slots", 3, texts("workspace", "key"), numbers("n", "at", "over"), texts("rule")),
	table("gathers", 3, texts("workspace", "rule", "by", "lane"), values("events"), numbers("since", "until", "quiet", "at_most")),
	table("caused", 1, numbers("id"), texts("workspace", "lane", "event", "object", "stage"), values("fields"), numbers("run"), texts("rule"), values("ancestry"), numbers("from_at", "to_at"), flags("used"), numbers("at", "after_event")),
	table("rule_versions", 1, texts("hash", "rule", "source")),
	table("holds", 4, texts("workspace", "rule", "lane", "kind", "reason"), numbers("since", "until"), values("why")),
	table("mutes", 2, texts("workspace", "lane", "rule"), numbers("run", "since", "until")),
	table("cursors", 1, texts("name", "value")),
	table("found", 1, numbers("seq"), texts("workspace", "type", "identity"), numbers("since", "until"), texts("told"), numbers("at")),
	table("seen", 3, texts("workspace", "kind", "id", "value"), numbers("at")),
	table("counts", 4, numbers("hour"), texts("workspace", "what", "detail"), numbers("n")),
	table("rule_counts", 5, numbers("hour"), texts("workspace", "rule", "what", "detail"), numbers("n")),
	table("reasons", 5, texts("workspace", "rule"), numbers("day"), texts("outcome", "clause"), numbers("n", "event", "at")),
	table("fired", 2, texts("workspace", "rule"), numbers("at")),
	table("known", 1, numbers("id"), texts("workspace", "lane"), values("mentions")),
	table("mentions", 3, texts("kind", "key"), numbers("known")),
	table("audit", 1, numbers("id", "at"), texts("who", "origin", "what", "subject", "detail")),
}

// Names are the names of columns.
func Names(list []Column) (names []string) {
	for _, c := range list {
		names = append(names, c.Name)
	}
	return names
}

// Numbered are the tables whose highest number is remembered even after its row is deleted.
var Numbered = []string{"events", "runs", "caused", "known", "audit"}

// The cursors that a copy leaves in journals. They are not copied.
const (
	CopyFrom = "copy from" // in the source, until an engine uses it: the id of the copy that was made of its present rows
	CopyTo   = "copy to"   // in the target, until the copy is complete: its position
)
