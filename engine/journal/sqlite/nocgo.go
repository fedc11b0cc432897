//go:build !cgo

package sqlite

// usable is whether the program contains SQLite.
const usable = false

func explain(err error) error { return err }

func busy(error) bool { return false }
