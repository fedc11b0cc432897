package simulation

import "time"

// A Scenario is a generated desk: its rules, what people do, and what goes wrong. It is plain data:
// the generator makes it from a seed, the shrinker removes parts, and both the engine (through
// YAML) and the reference interpreter (directly) get the same one.
type Scenario struct {
	Seed      uint64
	Exact     bool          // what goes wrong does not change when things happened: the effects are those of the undisturbed desk
	Away      bool          // of an exact one: the engine is away when a wait ends, and the effects come when it is back
	Reordered bool          // of an exact one: deliveries come late, in any order, and each attendance has a card
	Start     time.Time     // when the story begins, to the second
	Length    time.Duration // how long it is simulated
	Customers []string      // names; customer i has the phone number +55119000000 and i as two digits
	Rules     []Rule
	Other     []Rule // the rules after a Reload; nil if there is none
	Story     []Act  // by At
	Troubles  []Trouble
	Safety    Safety // zero is none
}

// Safety bounds automatic messages, as the configuration does.
type Safety struct {
	PerConversation, Messages Bound
}

// A Bound is a maximum in any window of a length; zero is none.
type Bound struct {
	Times int
	Per   time.Duration
}

// The names of every generated desk. Rules and stories use these labels, sectors, people, boards
// and stages.
var (
	Labels  = []string{"vip", "after-hours", "sla-breach", "billing"}
	Sectors = []string{"Support", "Sales", "Supervisors"}
	People  = []string{"Ana", "Bruno", "Carla"}
	Boards  = map[string][]string{"Deals": {"New", "Proposal", "Won"}, "Care": {"Open", "Closed"}} // stages in order; Won completes a card
	Words   = []string{"hello", "invoice", "price", "human", "1", "2", "3", "thanks"}
)

// manyMessages, in what a rule writes, is how many messages were gathered.
const manyMessages = "{{ len(messages) }}"

// Nobody has an invalid phone number: the service refuses to write to it.
const Nobody = "nobody"

// Calendars of every made-up rule file, both in America/Sao_Paulo: office is open mon-fri
// 08:00-12:00 and 13:30-18:00, sat 09:00-13:00, closed on 2026-11-20; night is open daily
// 22:00-06:00.
var Calendars = []string{"office", "night"}

// A Rule is a rule of the language.
type Rule struct {
	ID       string
	Stage    string // "", draft or shadow
	Sample   int    // percent; 0 is all, and of a Split the rest
	Split    string // the group that Sample is a share of; "" is none
	When     When
	FromAny  bool
	Claimed  bool // claimed: run
	Gather   *Gather
	If       []Cond
	By       string // an expression: "" (the lane), "contact.id", "event.type", "conversation.kind" or "contact.id + event.type"
	Mode     string // "", queued, single, restart, parallel
	Limit    *Limit
	Late     Late
	Max      int // 0 is not given
	CancelOn []Match
	Do       []Step
	OnError  []Step
}

// When is a rule's trigger: events, a person, or a schedule. Exactly one of Events, Manual, Every
// and At is set.
type When struct {
	Events []string
	Manual bool
	Every  time.Duration
	At     string // "09:15", every day, in the workspace's zone, America/Sao_Paulo
	Each   string // of a schedule: "", "attendances" (that are open) or "cards" (of the board Deals that are open)
}

// Gather is the rule's gather.
type Gather struct{ Quiet, AtMost time.Duration }

// Limit is the rule's limit.
type Limit struct {
	Times int
	Per   time.Duration
	By    string // as Rule.By
}

// Late is the rule's late: of events SkipAfter (zero is the default, negative is none), of
// schedules Run ("", last, all or none).
type Late struct {
	SkipAfter time.Duration
	Run       string
}

// A Match is an entry of cancel_on.
type Match struct {
	Event string
	If    *Cond
}

// A Cond is a condition that the reference interpreter knows too. The text behind each Kind is how
// it is written.
type Cond struct {
	Kind string
	Not  bool
	Text string        // a word, a name, a calendar, an event's type, the id of a step
	N    int           //
	For  time.Duration //
	Of   []Cond        // of any and all
}

// The kinds of conditions.
const (
	CondAny            = "any"             // (a or b)
	CondAll            = "all"             // (a and b)
	CondSays           = "says"            // says("invoice")                               Text; in message.* rules
	CondTextIs         = "text is"         // message.text == "1"                           Text; in message.* rules, cancel_on and wait_for on message.*
	CondByTeam         = "by team"         // message.by == "team"                          in message.sent
	CondTypeIs         = "type is"         // event.type == "message.received"              Text
	CondOpen           = "open"            // open("office")                                Text
	CondHasLabel       = "has label"       // has_label("vip")                              Text
	CondHumanActive    = "human active"    // human_active("20m")                           For
	CondWaiting        = "waiting"         // customer_waiting() > duration("20m")          For
	CondAttendanceOpen = "attendance open" // attendance.status == "open"
	CondAnswered       = "answered"        // attendance.first_response != nil
	CondAssigned       = "assigned"        // conversation.assignee != nil
	CondSector         = "sector"          // conversation.sector_name == "Support"         Text; "" is nil
	CondCount          = "count"           // count_events("message.received", "2h") >= 3   Text, For, N
	CondStage          = "stage"           // card.stage_name == "Proposal"                 Text; in kanban.card.*, and after find_card or create_card
	CondBusiness       = "business"        // business_time("office", attendance.opened_at, now()) > duration("30m")   Text (calendar), For
	CondNoAnswer       = "no answer"       // answer1 == nil                                Text: the id of a wait_for
	CondAnswerIs       = "answer is"       // answer1?.message?.text == "1"                 Text: "answer1=1"
	CondMany           = "many"            // len(messages) >= 2                            N; with gather on message.* events
)

// A Step is a step of a rule. Name is unique in the rule (s1, s2 …). Every text that the step
// writes begins with the rule's id and the name, so that an effect shows its origin: send_message
// writes "r1/s2 <Text> #<event id>", transfer and close_attendance give that as their reason,
// create_card as its title.
type Step struct {
	Name     string
	Verb     string
	ID       string // "" is none; a wait_for that a condition reads has one: answer1, answer2 …
	If       *Cond
	Continue bool          // on_error: continue
	Retry    int           // retry: {times}; 0 is not given
	Text     string        // send_message, log, stop: a word of the story, or "{{ contact.name }}"
	To       string        // send_message, open_conversation: "" is the conversation, else the name of a customer, whose phone number is the recipient, or Nobody
	Labels   []string      // add_labels, remove_labels, set_labels
	Sector   string        // transfer, set_sector
	Person   string        // transfer
	Board    string        // create_card, find_card
	Stage    string        // create_card, move_card
	OnlyFrom string        // move_card
	Wait     time.Duration // wait, and the timeout of wait_for
	Calendar string        // "" is plain time: "15m of office"
	Until    string        // wait: {until: next_open("office")}: the calendar's name; Wait is 0 then
	Events   []string      // wait_for
	Claims   bool          // wait_for: what it takes starts no rule; without, it is written claim: false
	Cond     *Cond         // wait_for, stop_if
	Branches []Branch      // choose; the last may have no If: else
	Items    []string      // for_each over a list of texts; as: item
	Do       []Step        // for_each
	Name2    string        // update_conversation: the new name; update_card: the description
	Flag     bool          // update_conversation: pinned
}

// A Branch is one of a choose.
type Branch struct {
	If *Cond
	Do []Step
}

// The verbs that are made up: send_message, transfer, set_sector, add_labels, remove_labels,
// set_labels, update_conversation, mark_read, close_attendance, open_conversation, create_card,
// find_card, move_card, update_card, read_conversation, read_attendance, read_messages, wait,
// wait_for, stop_if, stop, choose, for_each, set, log.

// An Act is an action of a person.
type Act struct {
	At       time.Duration // since the start
	Kind     string
	Customer string // whom it concerns
	Person   string // of the team
	Text     string // what is written, of one word or several; the stage, sector or rule
	Board    string
}

// The kinds of acts.
const (
	ActSays      = "says"      // the customer writes Text
	ActReplies   = "replies"   // Person writes Text to the customer
	ActCloses    = "closes"    // Person closes the customer's attendance; no effect if none is open
	ActTransfers = "transfers" // Person transfers the conversation to the sector Text; no effect if there is no conversation
	ActCards     = "cards"     // Person creates a card for the customer on Board, titled "<customer>'s card <n>"; no effect without a conversation
	ActMoves     = "moves"     // Person moves the customer's newest card to the stage Text; no effect if there is none
	ActFires     = "fires"     // a person fires the manual rule Text for the customer's conversation; no effect if there is none
	ActPauses    = "pauses"    // a person places a hold on the rule Text, or on everything if it is empty
	ActResumes   = "resumes"   // and lifts it
	ActReloads   = "reloads"   // the rules become Other, or Rules again
)

// A Trouble is something that goes wrong, once. It is found by counting: what it strikes is the Nth
// of its kind since the story began.
type Trouble struct {
	Kind string
	N    int           // which delivery, call, write or commit, from 1; unused by those that have an At
	At   time.Duration // since the start
	For  time.Duration // how late, how long, how far
	More int           // how often in a row, or how many
}

// The kinds of troubles. Exact says which leave the effects of a desk as they are, but for seconds.
const (
	// Of the Nth point where the engine could be stopped: before and after every write to the journal
	// and every call. It is started again For later. With More it is stopped as often, each time a few
	// points further.
	TroubleCrash = "crash"

	// Of the Nth of these points while schedules tick: it is stopped there, and started again For
	// later.
	TroubleTick = "tick"

	// Of the Nth delivery.
	TroubleTwice   = "twice"   // it comes again, For later
	TroubleLate    = "late"    // it arrives For later; after twenty minutes the backfill may have found its event
	TroubleLost    = "lost"    // it never arrives, nor do the next ones, More in all, and the backfill finds their events
	TroubleRefused = "refused" // the engine's answer is lost: it is recorded, and comes again For later

	// Of the Nth changing call; More calls in a row, 1 unless given.
	Trouble429       = "429"
	Trouble503Before = "503 before"
	Trouble503After  = "503 after"
	TroubleCutBefore = "cut before"
	TroubleCutAfter  = "cut after"
	TroubleSlow      = "slow" // its answer is lost, and it has its effect For later

	// Of the Nth changing call about a card; More such calls in a row.
	TroubleEdit = "edit" // a person edits the card right before: the version that the call names is outdated

	// Of the Nth call that moves a card.
	TroubleOvertake = "overtake" // it loses its connection before it has an effect, and a person moves the card to another stage

	// Of the Nth read.
	TroubleRead = "read 503"

	// At a time.
	TroubleJump  = "jump"  // the engine's clock goes For ahead (or back) for ten minutes
	TroublePrune = "prune" // what is older than For is forgotten
	TroubleCopy  = "copy"  // the journal is copied, and the engine continues in the copy
	TroubleDown  = "down"  // the engine is stopped for For; if longer than two minutes, the backfill finds the missed events
	TroubleEarly = "early" // with engines that share: all leases run out right before the Nth call begins, and another engine goes first, for More points if given

	// Between engines.
	TroubleEngines = "engines" // More engines share the journal
	TroubleSwitch  = "switch"  // at the Nth point another worker goes first: interleavings

	// Of people, during the engine's work.
	TroubleStop   = "stop"   // at the Nth point a person holds the rule of the number More, or with 0 everything, for For
	TroubleReload = "reload" // at the Nth point the rules become Other, or Rules again
)
