package console

// editorRoutes are the addresses at which rules are written.
var editorRoutes = []route{
	{"GET /write", Editor, (*Console).write},
	{"POST /write/check", Editor, (*Console).writeCheck},
	{"POST /write/complete", Editor, (*Console).writeComplete},
	{"POST /write/form", Editor, (*Console).writeForm},
	{"POST /write/past", Editor, (*Console).writePast},
	{"POST /write/story", Editor, (*Console).writeStory},
	{"POST /write/save", Editor, (*Console).writeSave},
	{"POST /write/discard", Editor, (*Console).writeDiscard},
	{"POST /rules/{workspace}/{rule}/stage", Editor, (*Console).stage},
	{"GET /history", Viewer, (*Console).history},
	{"POST /history/restore", Editor, (*Console).restore},
	{"GET /events/{event}/test", Editor, (*Console).eventTest},
	{"GET /runs/{run}/test", Editor, (*Console).runTest},
	{"POST /tests", Editor, (*Console).testSave},
}
