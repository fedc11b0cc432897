package store

import (
	"os"
	"time"

	"github.com/quandohq/quando/rules/source"
)

// proposalsFolder is a hidden folder beside the rules. The loader skips it: what is proposed is not
// in use.
const proposalsFolder = ".proposals"

// maxProposals bounds how many files can have a proposal that waits.
const maxProposals = 100

// A Proposal is a text for a rule file that waits for a person to accept it.
type Proposal struct {
	Rule  string    `json:"rule"` // the one that it is about
	Stage string    `json:"stage"`
	Text  string    `json:"text"`  // of the whole file
	Was   string    `json:"was"`   // the sum of the file that it is for; empty if there is none yet
	Saved bool      `json:"saved"` // the file has this text already, as a draft or in shadow
	Who   string    `json:"who"`
	Why   string    `json:"why"`
	At    time.Time `json:"at"`
}

// Propose keeps a proposal for a file, which itself stays unchanged. It replaces an earlier one.
func (s *Store) Propose(name string, p Proposal) error {
	if kept, err := s.Proposed(name); err == nil && kept == nil {
		all, err := s.Proposals()
		if err != nil {
			return err
		}
		if len(all) >= maxProposals {
			return ErrProposals
		}
	}
	return s.change(name, func(root *os.Root) error {
		if len(p.Text) > source.MaxBytes {
			return ErrLarge
		}
		p.At = s.options.Now().UTC()
		return writeAside(root, proposalsFolder, name, p)
	})
}

// Proposed returns the proposal for a file, or nil.
func (s *Store) Proposed(name string) (*Proposal, error) {
	return readAside[Proposal](s, proposalsFolder, name)
}

// Withdraw forgets the proposal for a file, if there is one.
func (s *Store) Withdraw(name string) error { return s.dropAside(proposalsFolder, name) }

// Proposals lists the names of the files with a proposal, also of files that do not exist yet.
func (s *Store) Proposals() ([]string, error) { return s.listAside(proposalsFolder) }
