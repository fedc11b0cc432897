package form

import (
	"errors"
	"fmt"

	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/source"
)

// check refuses a form that contradicts itself or lacks a required value.
func check(c *rules.Catalog, f Form) error {
	if f.ID == "" {
		return errors.New("the rule needs an id")
	}
	if f.When.Schedule != nil && len(f.When.Events) > 0 {
		return errors.New("a rule is started by events or by a schedule, not by both")
	}
	for key, text := range f.YAML {
		if key == "id" || f.isSet(key) {
			return fmt.Errorf("%s is given as a field and as YAML", key)
		}
		if err := checkYAML(text); err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
	}
	if s := f.When.Schedule; s != nil {
		if err := checkArgs(c, s.Where); err != nil {
			return fmt.Errorf("where: %w", err)
		}
	}
	if err := checkSteps(c, f.Do); err != nil {
		return fmt.Errorf("do: %w", err)
	}
	if err := checkSteps(c, f.OnError); err != nil {
		return fmt.Errorf("on_error: %w", err)
	}
	return nil
}

func checkSteps(c *rules.Catalog, steps []Step) error {
	for i, s := range steps {
		if err := checkStep(c, s); err != nil {
			return fmt.Errorf("step %d: %w", i+1, err)
		}
	}
	return nil
}

func checkStep(c *rules.Catalog, s Step) error {
	switch {
	case s.YAML != "" && (s.Verb != "" || !s.isBare()):
		return errors.New("it is given as fields and as YAML")
	case s.YAML != "":
		return checkYAML(s.YAML)
	case s.Verb == "":
		return errors.New("choose what it does")
	case c.Verb(s.Verb) == nil:
		return fmt.Errorf("there is no verb %q", s.Verb)
	}
	// A mapping behind such a verb is its main argument: it has no place for another.
	schema := c.Verb(s.Verb)
	if main := argNamed(schema.Args, schema.Main); main != nil && takesMapping(main) {
		for _, a := range s.Args {
			if a.Name != main.Name {
				return fmt.Errorf("%s has no argument %q", s.Verb, a.Name)
			}
		}
	}
	return checkArgs(c, s.Args)
}

func checkArgs(c *rules.Catalog, args []Arg) error {
	for i, a := range args {
		if named(args[:i], a.Name) != nil {
			return fmt.Errorf("%s is given twice", a.Name)
		}
		var err error
		switch a.As {
		case AsText, AsList, AsNull:
		case AsYAML:
			err = checkYAML(a.YAML)
		case AsFields:
			err = checkArgs(c, a.Fields)
		case AsSteps:
			err = checkSteps(c, a.Steps)
		case AsBranches:
			for _, b := range a.Branches {
				if b.Else && b.If != "" {
					return fmt.Errorf("%s: the else branch has no condition", a.Name)
				}
				if err := checkSteps(c, b.Do); err != nil {
					return fmt.Errorf("%s: %w", a.Name, err)
				}
			}
		default:
			err = fmt.Errorf("a value cannot be given as %q", a.As)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", a.Name, err)
		}
	}
	return nil
}

// checkYAML refuses a text that is not one value.
func checkYAML(text string) error {
	_, err := source.ParseValue(text)
	return err
}
