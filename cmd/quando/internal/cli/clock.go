package cli

import "time"

// Now tells the time that is shown and recorded. Tests have a clock of their own.
var Now = time.Now
