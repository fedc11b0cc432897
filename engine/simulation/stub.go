package simulation

func TestFile(s *Scenario, expect []Effect) []byte { return nil }
