package cli

import "time"

// Now is the clock of what is shown and recorded. Tests replace it.
var Now = time.Now
