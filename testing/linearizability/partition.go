package linearizability

import "slices"

// partition is the accounts of one hash slot: calls on one of them, and chains, which are carried out
// on all of theirs at one moment. An account that no other shares its slot with is one of its own.
type partition []account

func newPartition(count int, credit int64, remembered map[remembered]bool) partition {
	accounts := make(partition, count)
	for at := range accounts {
		own := map[string]bool{}
		for id, is := range remembered {
			if id.account == at {
				own[id.txn] = is
			}
		}
		accounts[at] = newAccount(credit, own)
	}
	return accounts
}

func (p partition) do(call Call) (state, Outcome) {
	if call.Op == "chain" {
		return p.chain(call.Links)
	}
	after, outcome := p[call.Account].do(call)
	next := slices.Clone(p)
	next[call.Account] = after
	return next, outcome
}

// chain is section 15 of docs/ledger.md: each command is decided as if it were alone, and then all of
// them are carried out, refused or denied.
func (p partition) chain(links []Call) (state, Outcome) {
	next, outcomes := slices.Clone(p), make([]Outcome, len(links))
	replays := 0
	for at, link := range links {
		next[link.Account], outcomes[at] = p[link.Account].do(link)
		if !isAnswer(outcomes[at].Code) {
			return p, Outcome{Code: outcomes[at].Code}
		}
		if outcomes[at].Replayed == 1 {
			replays++
		}
	}
	switch {
	case replays == len(links):
		return p, answerOf(outcomes, 1)
	case replays > 0:
		return p, Outcome{Code: "REQUEST_MISMATCH"}
	case slices.ContainsFunc(outcomes, denied):
		for at, link := range links {
			if !denied(outcomes[at]) {
				before := p[link.Account]
				before.isDenied = true
				next[link.Account], outcomes[at] = before.do(link)
				next[link.Account].isDenied = false
			}
		}
	}
	return next, answerOf(outcomes, 0)
}

// isAnswer tells answers from refusals.
func isAnswer(code string) bool {
	return code == "OK" || code == creditLimitReached || code == chainDenied
}

func denied(outcome Outcome) bool { return outcome.Code == creditLimitReached }

// answerOf is the answer of a chain: that of the first command that was denied by itself stands for
// it, in a chain of duplicates else that of the first one that another chain has denied.
func answerOf(outcomes []Outcome, replayed int64) Outcome {
	outcome := Outcome{Code: "OK", Replayed: replayed, Links: outcomes}
	first := slices.IndexFunc(outcomes, denied)
	if first < 0 {
		first = slices.IndexFunc(outcomes, func(one Outcome) bool { return one.Code == chainDenied })
	}
	if first >= 0 {
		outcome.Code, outcome.Denied = outcomes[first].Code, int64(first+1)
	}
	return outcome
}

func (p partition) equal(other state) bool {
	return slices.EqualFunc(p, other.(partition), account.equal)
}

func (p partition) hash() uint64 {
	sum := uint64(0)
	for _, account := range p {
		sum = sum*31 + account.hash()
	}
	return sum
}
