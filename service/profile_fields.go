package service

// IdentityFields names the fields of the integration that the key belongs to.
type IdentityFields struct {
	ID         Paths `json:"id"`
	Name       Paths `json:"name"`
	TenantID   Paths `json:"tenant_id"`
	TenantName Paths `json:"tenant_name"`
	Scopes     Paths `json:"scopes"`
	APIVersion Paths `json:"api_version"`
}

// ChannelFields names the fields of a WhatsApp number.
type ChannelFields struct {
	ID      Paths `json:"id"`
	Name    Paths `json:"name"`
	Phone   Paths `json:"phone"`
	Private Paths `json:"private"`
}

// MediaFields names the fields of an uploaded file and its download link.
type MediaFields struct {
	ID          Paths `json:"id"`
	Name        Paths `json:"name"`
	ContentType Paths `json:"content_type"`
	Size        Paths `json:"size"`
	CreatedAt   Paths `json:"created_at"`
	URL         Paths `json:"url"`
	ExpiresAt   Paths `json:"expires_at"`
}

// LabelFields names the fields of a label.
type LabelFields struct {
	ID    Paths `json:"id"`
	Name  Paths `json:"name"`
	Color Paths `json:"color"`
}

// AssignmentFields names the fields of an entry of a conversation's history of responsible persons.
type AssignmentFields struct {
	ID             Paths `json:"id"`
	ConversationID Paths `json:"conversation_id"`
	Action         Paths `json:"action"`
	UserID         Paths `json:"user_id"`
	SectorID       Paths `json:"sector_id"`
	FromUserID     Paths `json:"from_user_id"`
	FromSectorID   Paths `json:"from_sector_id"`
	By             Paths `json:"by"`
	Reason         Paths `json:"reason"`
	At             Paths `json:"at"`
}

// PersonFields names the fields of a member of the team.
type PersonFields struct {
	ID            Paths `json:"id"`
	Name          Paths `json:"name"`
	Role          Paths `json:"role"`
	AccessProfile Paths `json:"access_profile"`
	Presence      Paths `json:"presence"`
	SectorIDs     Paths `json:"sector_ids"`
}

// SectorFields names the fields of a sector.
type SectorFields struct {
	ID           Paths `json:"id"`
	Name         Paths `json:"name"`
	MemberIDs    Paths `json:"member_ids"`
	Queues       Paths `json:"queues"`
	QueueID      Paths `json:"queue_id"`
	QueueName    Paths `json:"queue_name"`
	QueueWaiting Paths `json:"queue_waiting"`
}

// CompanyRulesFields names the fields of the company's attendance rules.
type CompanyRulesFields struct {
	Enabled            Paths `json:"enabled"`
	FirstResponderOwns Paths `json:"first_responder_owns"`
	Mode               Paths `json:"mode"`
	Restricted         Paths `json:"restricted"`
	AutoClose          Paths `json:"auto_close"`
	AutoCloseMinutes   Paths `json:"auto_close_minutes"`
	AutoCloseHours     Paths `json:"auto_close_hours"`
}

// ReportFields names the fields of the report of a period; the totals are read the same way in each
// of its rows.
type ReportFields struct {
	From                 Paths `json:"from"`
	To                   Paths `json:"to"`
	Opened               Paths `json:"opened"`
	Closed               Paths `json:"closed"`
	FirstResponseSeconds Paths `json:"first_response_seconds"`
	ResolutionSeconds    Paths `json:"resolution_seconds"`
	ByPerson             Paths `json:"by_person"`
	BySector             Paths `json:"by_sector"`
	ByDay                Paths `json:"by_day"`
	RowID                Paths `json:"row_id"`
	RowName              Paths `json:"row_name"`
	RowDay               Paths `json:"row_day"`
}

// WebhookFields names the fields of a webhook.
type WebhookFields struct {
	ID        Paths `json:"id"`
	Name      Paths `json:"name"`
	URL       Paths `json:"url"`
	Events    Paths `json:"events"`
	Active    Paths `json:"active"`
	Secret    Paths `json:"secret"`
	CreatedAt Paths `json:"created_at"`
	UpdatedAt Paths `json:"updated_at"`
	EventName Paths `json:"event_name"`
}

// DeliveryFields names the fields of a webhook's delivery.
type DeliveryFields struct {
	ID             Paths `json:"id"`
	EventID        Paths `json:"event_id"`
	EventType      Paths `json:"event_type"`
	Attempt        Paths `json:"attempt"`
	Status         Paths `json:"status"`
	ResponseStatus Paths `json:"response_status"`
	Error          Paths `json:"error"`
	At             Paths `json:"at"`
	NextAttemptAt  Paths `json:"next_attempt_at"`
}

// BoardFields names the fields of a board.
type BoardFields struct {
	ID       Paths `json:"id"`
	Name     Paths `json:"name"`
	Archived Paths `json:"archived"`
	Stages   Paths `json:"stages"`
}

// StageFields names the fields of a stage of a board.
type StageFields struct {
	ID       Paths `json:"id"`
	Name     Paths `json:"name"`
	Position Paths `json:"position"`
	Winning  Paths `json:"winning"`
}
