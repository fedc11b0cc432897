package service

// defaultFields sets the candidate names of fields: first those of the sandbox, then common
// variants, as nested objects and as …_id alike. Narrow names come before wide ones, because the
// first match wins.
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

func defaultLabelFields() LabelFields {
	return LabelFields{
		ID:    Paths{"id", "label_id", "uuid"},
		Name:  Paths{"name", "title", "label", "text"},
		Color: Paths{"color", "colour", "hex"},
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
