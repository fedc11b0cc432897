package rules

// Beside returns the file together with the calendars that it may use of other files, and without their rules: so a rule that is not in a
// set can be compiled as if it were. A calendar that the file defines itself is its own.
func (f *File) Beside(others []*File) []*File {
	own := make(map[string]bool)
	if f.calendars != nil {
		for _, p := range f.calendars.Pairs {
			own[p.Key.Value] = true
		}
	}
	files := []*File{f}
	for _, other := range others {
		if other.calendars == nil || other.Name == f.Name {
			continue
		}
		calendars := *other.calendars
		calendars.Pairs = nil
		for _, p := range other.calendars.Pairs {
			if !own[p.Key.Value] {
				calendars.Pairs = append(calendars.Pairs, p)
			}
		}
		files = append(files, &File{Name: other.Name, source: other.source, calendars: &calendars})
	}
	return files
}
