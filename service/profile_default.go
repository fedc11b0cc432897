package service

// DefaultProfile fits the sandbox, and accepts the usual other names for everything the reference
// does not show.
func DefaultProfile() Profile {
	p := Profile{
		HeaderPrefix: "X-Service",
		List: ListProfile{
			Items:      Paths{"data", "items", "results", "data.items", "data.results"},
			NextCursor: Paths{"next_cursor", "meta.next_cursor", "pagination.next_cursor", "paging.next_cursor", "page.next_cursor", "data.next_cursor", "cursor.next", "cursors.next", "nextCursor", "next"},
			HasMore:    Paths{"has_more", "meta.has_more", "pagination.has_more", "paging.has_more", "data.has_more", "hasMore"},
		},
		Object: ObjectProfile{Wrappers: Paths{"data", "item", "result"}},
		Error: ErrorProfile{
			Code:         Paths{"code", "error.code", "error_code", "errors.0.code", "detail.code", "error"},
			Message:      Paths{"message", "error.message", "error_message", "error_description", "detail", "detail.message", "title", "errors.0.message", "error"},
			PendingCodes: []string{"idempotency_pending"},
		},
		Event: defaultEvents(),
		Cards: defaultCards(),
	}
	defaultFields(&p)
	return p
}

func defaultCards() CardProfile {
	write := map[string]string{}
	for _, name := range [...]string{"title", "description", "priority", "label_ids", "due_date", "contact_id", "conversation_id"} {
		write[name] = name
	}
	create := map[string]string{"board_id": "board_id", "stage_id": "stage_id"}
	for name, field := range write {
		create[name] = field
	}
	return CardProfile{
		Create:       CardOperation{Method: "POST", Path: "/kanban/cards", Body: create},
		Get:          CardOperation{Method: "GET", Path: "/kanban/cards/{id}"},
		Update:       CardOperation{Method: "PATCH", Path: "/kanban/cards/{id}", Body: write},
		Move:         CardOperation{Method: "POST", Path: "/kanban/cards/{id}/move", Body: map[string]string{"stage_id": "stage_id"}},
		WriteScope:   "write",
		VersionIn:    "both",
		IfMatch:      "auto",
		DueFormat:    "rfc3339",
		SearchStatus: "all",
	}
}

func defaultEvents() EventProfile {
	return EventProfile{
		Conversation: Paths{"conversation", "chat", "message.conversation", "attendance.conversation", "card.conversation"},
		ConversationID: Paths{"conversation.id", "conversation_id", "conversation", "message.conversation_id", "message.conversation.id", "attendance.conversation_id",
			"attendance.conversation.id", "card.conversation_id", "card.conversation.id", "chat.id", "chat_id"},
		Contact: Paths{"contact", "customer", "conversation.contact", "message.contact", "attendance.contact", "card.contact"},
		ContactID: Paths{"contact.id", "contact_id", "contact", "customer.id", "customer_id", "conversation.contact_id", "conversation.contact.id", "message.contact_id",
			"message.contact.id", "attendance.contact_id", "attendance.contact.id", "card.contact_id", "card.contact.id"},
		Message:      Paths{"message"},
		MessageID:    Paths{"message.id", "message_id"},
		Attendance:   Paths{"attendance", "conversation.attendance", "message.attendance"},
		AttendanceID: Paths{"attendance.id", "attendance_id", "attendance", "message.attendance_id", "conversation.attendance_id", "card.attendance_id", "card.attendance.id"},
		Card:         Paths{"card", "kanban_card"},
		CardID:       Paths{"card.id", "card_id", "card", "kanban_card.id"},
		Self:         map[string]string{"message.": "message", "conversation.": "conversation", "attendance.": "attendance", "kanban.card.": "card"},
		FromStageID:  Paths{"from_stage_id", "from_stage.id", "from_stage", "from.id", "card.from_stage_id"},
		ToStageID:    Paths{"to_stage_id", "to_stage.id", "to_stage", "to.id", "card.to_stage_id", "card.stage_id", "card.stage.id", "stage_id"},
		MovedBy:      Paths{"moved_by", "by", "actor", "user", "moved_by_id", "user_id", "card.moved_by"},
		Changed:      Paths{"changed", "changes", "changed_fields"},
	}
}
