//go:build !cgo

package sqlite

// hasSQLite is whether the program contains SQLite.
const hasSQLite = false

func explain(err error) error { return err }

func isBusy(error) bool { return false }
