package vocabulary

// A Verb is the name of something that a step does.
type Verb = string

// The verbs that code names. Most are named nowhere but in the table of actions/builtin.
const (
	SendMessage        Verb = "send_message"
	Transfer           Verb = "transfer"
	SetSector          Verb = "set_sector"
	AddLabels          Verb = "add_labels"
	RemoveLabels       Verb = "remove_labels"
	SetLabels          Verb = "set_labels"
	UpdateConversation Verb = "update_conversation"
	MarkRead           Verb = "mark_read"
	Mute               Verb = "mute"
	Unmute             Verb = "unmute"
	CloseAttendance    Verb = "close_attendance"
	CreateContact      Verb = "create_contact"
	UpdateContact      Verb = "update_contact"
	MoveCard           Verb = "move_card"
	CreateCard         Verb = "create_card"
	UpdateCard         Verb = "update_card"
	HTTPRequest        Verb = "http_request"
)
