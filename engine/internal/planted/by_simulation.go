package planted

// Bugs that made-up desks find, and the tests of the examples need not.
var bySimulation = []Bug{}
