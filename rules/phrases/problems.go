package phrases

// A problemTable has the Portuguese of English formats and words of messages.
type problemTable map[string]string

// problems is what is wrong with rules and configurations, and what to do about it, by theme.
var problems = [...]problemTable{}
