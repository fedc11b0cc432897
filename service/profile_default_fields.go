package service

// defaultFields fills in the names that answers may use: first those of the sandbox, then their common relatives, as nested
// objects and as …_id alike. Narrow names come before wide ones, because the first that fits wins.
func defaultFields(p *Profile) {
	p.Identity = defaultIdentityFields()
	p.Channel = defaultChannelFields()
	p.Conversation = defaultConversationFields()
	p.Message = defaultMessageFields()
	p.Media = defaultMediaFields()
	p.Contact = defaultContactFields()
	p.Label = defaultLabelFields()
	p.Attendance = defaultAttendanceFields()
	p.Assignment = defaultAssignmentFields()
	p.Person = defaultPersonFields()
	p.Sector = defaultSectorFields()
	p.CompanyRules = defaultCompanyRulesFields()
	p.Report = defaultReportFields()
	p.Webhook = defaultWebhookFields()
	p.Delivery = defaultDeliveryFields()
	p.Board = defaultBoardFields()
	p.Stage = defaultStageFields()
	p.Card = defaultCardFields()
}

func defaultIdentityFields() IdentityFields {
	return IdentityFields{
		ID:         Paths{"id", "integration.id", "integration_id", "key.id", "key_id", "api_key.id"},
		Name:       Paths{"name", "integration.name", "key.name", "key_name", "api_key.name", "label"},
		TenantID:   Paths{"tenant_id", "tenant.id", "company_id", "company.id", "workspace_id", "workspace.id", "organization_id", "organization.id"},
		TenantName: Paths{"tenant_name", "tenant.name", "company_name", "company.name", "workspace_name", "workspace.name", "organization.name"},
		Scopes:     Paths{"scopes", "permissions", "key.scopes", "integration.scopes", "api_key.scopes", "scope"},
		APIVersion: Paths{"api_version", "version", "api.version"},
	}
}

func defaultChannelFields() ChannelFields {
	return ChannelFields{
		ID:      Paths{"id", "channel_id", "uuid"},
		Name:    Paths{"name", "label", "title", "display_name"},
		Phone:   Paths{"phone", "number", "phone_number", "display_phone", "wa_id"},
		Private: Paths{"private", "is_private"},
	}
}

func defaultConversationFields() ConversationFields {
	return ConversationFields{
		ID:          Paths{"id", "conversation_id", "uuid"},
		Kind:        Paths{"kind", "type"},
		Archived:    Paths{"archived", "is_archived"},
		Pinned:      Paths{"pinned", "is_pinned"},
		Muted:       Paths{"muted", "is_muted"},
		Name:        Paths{"name", "title", "display_name", "contact.name", "contact_name", "customer.name"},
		LabelIDs:    Paths{"label_ids", "labels", "tag_ids", "tags"},
		ChannelID:   Paths{"channel_id", "channel.id", "channel", "number_id", "number.id", "whatsapp_number_id", "whatsapp_channel_id", "inbox_id"},
		ContactID:   Paths{"contact_id", "contact.id", "contact", "customer_id", "customer.id", "customer"},
		Phone:       Paths{"phone", "contact.phone", "contact_phone", "phone_number", "customer.phone", "number", "contact.phone_number", "wa_id"},
		AssigneeID:  Paths{"assignee_id", "assignee.id", "assignee", "responsible_id", "responsible.id", "responsible", "responsible_user_id", "responsible_person_id", "responsible_person.id", "assigned_to_id", "assigned_to.id", "assigned_to", "assigned_user_id", "agent_id", "agent.id", "owner_id", "owner.id", "user_id", "user.id"},
		SectorID:    Paths{"sector_id", "sector.id", "sector", "department_id", "department.id", "team_id"},
		Unread:      Paths{"unread", "is_unread", "has_unread", "unread_count", "unread_messages"},
		UnreadCount: Paths{"unread_count", "unread_messages", "unread.count", "unread"},
		LastMessage: Paths{"last_message", "lastMessage", "latest_message", "last"},
		CreatedAt:   Paths{"created_at", "createdAt", "created", "inserted_at"},
		UpdatedAt:   Paths{"updated_at", "updatedAt", "updated", "modified_at"},
	}
}

func defaultMessageFields() MessageFields {
	return MessageFields{
		ID:                Paths{"id", "message_id", "uuid"},
		ConversationID:    Paths{"conversation_id", "conversation.id", "conversation", "chat_id", "chat.id", "chat"},
		ClientID:          Paths{"client_id", "clientId", "client_message_id"},
		Text:              Paths{"text", "body", "content", "caption", "message", "text.body"},
		MediaID:           Paths{"media_id", "media.id", "media", "attachment_id", "attachment.id", "file_id"},
		ReplyToExternalID: Paths{"reply_to_external_id", "reply_to.external_id", "quoted_external_id", "quoted.external_id", "reply_to"},
		ExternalID:        Paths{"external_id", "externalId", "wa_message_id", "wamid", "provider_id"},
		Direction:         Paths{"direction", "side", "way"},
		FromMe:            Paths{"from_me", "fromMe", "is_from_me", "outgoing", "is_outgoing"},
		SenderKind:        Paths{"sender.kind", "sender.type", "sender.role", "sender_kind", "sender_type", "author.kind", "author.type", "from.kind", "from.type", "source", "origin", "sender"},
		SenderID:          Paths{"sender.id", "sender_id", "author.id", "author_id", "sent_by.id", "sent_by_id", "user_id", "user.id"},
		SenderName:        Paths{"sender.name", "sender_name", "author.name", "sent_by.name", "user.name"},
		CreatedAt:         Paths{"created_at", "createdAt", "sent_at", "received_at", "timestamp", "at", "date", "created"},
		Cursor:            Paths{"cursor", "id", "message_id"},

		InboundValues:  []string{"inbound", "in", "incoming", "received", "customer", "contact", "client", "from_customer"},
		OutboundValues: []string{"outbound", "out", "outgoing", "sent", "team", "api", "user", "agent", "bot", "integration", "system", "app", "phone", "to_customer"},
	}
}

func defaultMediaFields() MediaFields {
	return MediaFields{
		ID:          Paths{"id", "media_id", "media.id", "uuid", "file_id", "file.id"},
		Name:        Paths{"name", "filename", "file_name", "original_name"},
		ContentType: Paths{"content_type", "mime_type", "mimetype", "mime", "type"},
		Size:        Paths{"size", "size_bytes", "bytes", "length"},
		CreatedAt:   Paths{"created_at", "createdAt", "created", "inserted_at"},
		URL:         Paths{"url", "download_url", "link", "href", "signed_url", "temporary_url", "data.url", "data"},
		ExpiresAt:   Paths{"expires_at", "expiresAt", "expires", "expiration", "valid_until"},
	}
}

func defaultContactFields() ContactFields {
	return ContactFields{
		ID:        Paths{"id", "contact_id", "uuid"},
		Name:      Paths{"name", "display_name", "full_name"},
		Phone:     Paths{"phone", "phone_number", "number", "wa_id", "mobile"},
		Company:   Paths{"company", "company_name", "company.name", "organization"},
		City:      Paths{"city", "city.name", "address.city"},
		ChannelID: Paths{"channel_id", "channel.id", "channel", "number_id", "number.id", "whatsapp_number_id", "whatsapp_channel_id", "inbox_id"},
		LabelIDs:  Paths{"label_ids", "labels", "tag_ids", "tags"},
		Blocked:   Paths{"blocked", "is_blocked"},
		CreatedAt: Paths{"created_at", "createdAt", "created", "inserted_at"},
		UpdatedAt: Paths{"updated_at", "updatedAt", "updated", "modified_at"},
	}
}

func defaultLabelFields() LabelFields {
	return LabelFields{
		ID:    Paths{"id", "label_id", "uuid"},
		Name:  Paths{"name", "title", "label", "text"},
		Color: Paths{"color", "colour", "hex"},
	}
}

func defaultAttendanceFields() AttendanceFields {
	return AttendanceFields{
		ID:              Paths{"id", "attendance_id", "uuid"},
		Protocol:        Paths{"protocol", "protocol_number", "protocol.number", "number", "protocol_code"},
		Status:          Paths{"status", "state"},
		ConversationID:  Paths{"conversation_id", "conversation.id", "conversation", "chat_id", "chat.id", "chat"},
		ContactID:       Paths{"contact_id", "contact.id", "contact", "customer_id", "customer.id", "customer"},
		AssigneeID:      Paths{"assignee_id", "assignee.id", "assignee", "responsible_id", "responsible.id", "responsible", "responsible_user_id", "responsible_person_id", "responsible_person.id", "assigned_to_id", "assigned_to.id", "assigned_to", "assigned_user_id", "agent_id", "agent.id", "owner_id", "owner.id", "user_id", "user.id"},
		SectorID:        Paths{"sector_id", "sector.id", "sector", "department_id", "department.id", "team_id"},
		OpenedAt:        Paths{"opened_at", "openedAt", "started_at", "created_at", "opened"},
		FirstResponseAt: Paths{"first_response_at", "first_response.at", "first_response.created_at", "first_response", "first_responded_at", "firstResponseAt", "first_reply_at", "first_answer_at"},
		ClosedAt:        Paths{"closed_at", "closedAt", "closing_time", "closing_at", "ended_at", "finished_at", "resolved_at", "closed"},
		CloseReason:     Paths{"close_reason", "closing_reason", "reason", "closed_reason"},
		Contact:         Paths{"contact", "customer"},
		Assignee:        Paths{"assignee", "responsible", "responsible_person", "user", "agent"},
	}
}

func defaultAssignmentFields() AssignmentFields {
	return AssignmentFields{
		ID:             Paths{"id", "assignment_id", "uuid"},
		ConversationID: Paths{"conversation_id", "conversation.id", "conversation", "chat_id", "chat.id", "chat"},
		Action:         Paths{"action", "kind", "type", "event"},
		UserID:         Paths{"user_id", "user.id", "user", "to_user_id", "to_user.id", "assignee_id", "assignee.id", "assignee", "person_id", "person.id", "responsible_id", "responsible.id", "to.id"},
		SectorID:       Paths{"sector_id", "sector.id", "sector", "to_sector_id", "to_sector.id"},
		FromUserID:     Paths{"from_user_id", "from_user.id", "from_user", "previous_user_id", "previous_assignee_id", "from.id"},
		FromSectorID:   Paths{"from_sector_id", "from_sector.id", "from_sector", "previous_sector_id"},
		By:             Paths{"by", "actor", "performed_by", "assigned_by"},
		Reason:         Paths{"reason", "note", "comment"},
		At:             Paths{"at", "created_at", "assigned_at", "timestamp", "started_at", "date"},
	}
}

func defaultPersonFields() PersonFields {
	return PersonFields{
		ID:            Paths{"id", "user_id", "user.id", "uuid"},
		Name:          Paths{"name", "display_name", "full_name", "user.name"},
		Role:          Paths{"role", "role.name", "role.slug"},
		AccessProfile: Paths{"access_profile", "access_profile.name", "profile", "profile.name", "access"},
		Presence:      Paths{"presence", "presence.status", "status", "availability"},
		SectorIDs:     Paths{"sector_ids", "sectors", "departments"},
	}
}

func defaultSectorFields() SectorFields {
	return SectorFields{
		ID:           Paths{"id", "sector_id", "uuid"},
		Name:         Paths{"name", "title"},
		MemberIDs:    Paths{"member_ids", "members", "user_ids", "users", "people"},
		Queues:       Paths{"queues", "queue"},
		QueueID:      Paths{"id", "queue_id"},
		QueueName:    Paths{"name", "title", "kind"},
		QueueWaiting: Paths{"waiting", "waiting_count", "count", "size", "length"},
	}
}

func defaultCompanyRulesFields() CompanyRulesFields {
	return CompanyRulesFields{
		Enabled:            Paths{"enabled", "attendance_enabled", "active", "is_enabled"},
		FirstResponderOwns: Paths{"first_responder_owns", "first_responder_takes_ownership", "first_response_takes_ownership", "first_responder_ownership", "auto_assign_first_responder"},
		Mode:               Paths{"mode", "attendance_mode", "access_mode", "visibility"},
		Restricted:         Paths{"restricted", "is_restricted", "restricted_mode"},
		AutoClose:          Paths{"auto_close.enabled", "automatic_closing.enabled", "auto_close_enabled", "auto_close", "automatic_closing"},
		AutoCloseMinutes:   Paths{"auto_close_after_minutes", "auto_close_minutes", "auto_close.after_minutes", "auto_close.minutes", "automatic_closing.after_minutes", "automatic_closing.minutes", "automatic_closing_minutes"},
		AutoCloseHours:     Paths{"auto_close_after_hours", "auto_close_hours", "auto_close.after_hours", "auto_close.hours", "automatic_closing.after_hours", "automatic_closing.hours", "automatic_closing_hours"},
	}
}

func defaultReportFields() ReportFields {
	return ReportFields{
		From:                 Paths{"from", "period.from", "start", "period.start"},
		To:                   Paths{"to", "period.to", "end", "period.end"},
		Opened:               Paths{"opened", "totals.opened", "total.opened", "summary.opened", "attendances.opened", "attendances_opened", "opened_count", "total_opened"},
		Closed:               Paths{"closed", "totals.closed", "total.closed", "summary.closed", "attendances.closed", "attendances_closed", "closed_count", "total_closed"},
		FirstResponseSeconds: Paths{"first_response_seconds", "totals.first_response_seconds", "summary.first_response_seconds", "avg_first_response_seconds", "totals.avg_first_response_seconds", "first_response_time_seconds", "first_response_time", "totals.first_response_time", "first_response.avg_seconds", "first_response.average_seconds", "first_response.seconds", "first_response.average", "first_response"},
		ResolutionSeconds:    Paths{"resolution_seconds", "totals.resolution_seconds", "summary.resolution_seconds", "avg_resolution_seconds", "totals.avg_resolution_seconds", "resolution_time_seconds", "resolution_time", "totals.resolution_time", "resolution.avg_seconds", "resolution.average_seconds", "resolution.seconds", "resolution.average", "resolution"},
		ByPerson:             Paths{"by_person", "per_person", "people", "persons", "by_user", "per_user", "users", "by_agent", "team"},
		BySector:             Paths{"by_sector", "per_sector", "sectors"},
		ByDay:                Paths{"by_day", "per_day", "days", "daily"},
		RowID:                Paths{"id", "user_id", "person_id", "sector_id", "user.id", "person.id", "sector.id"},
		RowName:              Paths{"name", "user_name", "person_name", "sector_name", "user.name", "person.name", "sector.name"},
		RowDay:               Paths{"day", "date"},
	}
}

func defaultWebhookFields() WebhookFields {
	return WebhookFields{
		ID:        Paths{"id", "webhook_id", "uuid"},
		Name:      Paths{"name", "title"},
		URL:       Paths{"url", "address", "endpoint"},
		Events:    Paths{"events", "event_types", "subscriptions"},
		Active:    Paths{"active", "is_active", "enabled"},
		Secret:    Paths{"secret", "signing_secret", "webhook_secret", "secret_key", "signing_key", "hmac_secret", "webhook.secret", "webhook.signing_secret", "data.secret", "data.signing_secret"},
		CreatedAt: Paths{"created_at", "createdAt", "created", "inserted_at"},
		UpdatedAt: Paths{"updated_at", "updatedAt", "updated", "modified_at"},
		EventName: Paths{"name", "type", "event", "id"},
	}
}

func defaultDeliveryFields() DeliveryFields {
	return DeliveryFields{
		ID:             Paths{"id", "delivery_id", "uuid"},
		EventID:        Paths{"event_id", "event.id"},
		EventType:      Paths{"event_type", "event.type", "type", "event", "event_name"},
		Attempt:        Paths{"attempt", "attempts", "attempt_count", "tries"},
		Status:         Paths{"status", "state", "outcome"},
		ResponseStatus: Paths{"response_status", "status_code", "http_status", "response.status", "response_code", "code"},
		Error:          Paths{"error", "error_message", "last_error", "error.message"},
		At:             Paths{"at", "created_at", "delivered_at", "attempted_at", "last_attempt_at", "sent_at", "timestamp"},
		NextAttemptAt:  Paths{"next_attempt_at", "next_retry_at", "retry_at"},
	}
}

func defaultBoardFields() BoardFields {
	return BoardFields{
		ID:       Paths{"id", "board_id", "uuid"},
		Name:     Paths{"name", "title"},
		Archived: Paths{"archived", "is_archived"},
		Stages:   Paths{"stages", "columns", "lists"},
	}
}

func defaultStageFields() StageFields {
	return StageFields{
		ID:       Paths{"id", "stage_id", "uuid"},
		Name:     Paths{"name", "title"},
		Position: Paths{"position", "order", "index", "sort"},
		Winning:  Paths{"winning", "is_winning", "won", "is_won", "win"},
	}
}

func defaultCardFields() CardFields {
	return CardFields{
		ID:             Paths{"id", "card_id", "uuid"},
		BoardID:        Paths{"board_id", "board.id", "board"},
		StageID:        Paths{"stage_id", "stage.id", "stage", "column_id", "column.id", "list_id"},
		Title:          Paths{"title", "name", "subject"},
		Description:    Paths{"description", "details", "notes", "body"},
		Priority:       Paths{"priority", "priority.name"},
		LabelIDs:       Paths{"label_ids", "labels", "tag_ids", "tags"},
		LabelID:        Paths{"label_id", "label.id", "label"},
		DueDate:        Paths{"due_date", "due_at", "due", "dueDate", "deadline"},
		Version:        Paths{"version", "etag", "lock_version", "revision"},
		ContactID:      Paths{"contact_id", "contact.id", "contact", "customer_id", "customer.id", "customer"},
		ConversationID: Paths{"conversation_id", "conversation.id", "conversation", "chat_id", "chat.id", "chat"},
		AttendanceID:   Paths{"attendance_id", "attendance.id", "attendance"},
		Status:         Paths{"status", "state"},
		CreatedAt:      Paths{"created_at", "createdAt", "created", "inserted_at"},
		UpdatedAt:      Paths{"updated_at", "updatedAt", "updated", "modified_at"},
	}
}
