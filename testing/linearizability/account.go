package linearizability

import "reflect"

// answersMax is how many answers an open session keeps.
const answersMax = 8

// account is an account with one bucket, whose floor is 0, and sessions of one item each.
// docs/ledger.md has the rules.
type account struct {
	available int64
	version   int64
	sessions  map[string]session
	// answers of balance commands, by their transaction ids
	answers    map[string]answer
	remembered map[string]bool
}

// session is an open session, or what is remembered of a closed one: its last answer.
type session struct {
	open      bool
	held      int64
	version   int64
	lastGrant int64
	answers   map[int64]answer
}

// answer is what is given again to the same body.
type answer struct {
	body    Call
	outcome Outcome
}

func newAccount(credit int64, remembered map[string]bool) account {
	return account{
		available:  credit,
		version:    1,
		sessions:   map[string]session{},
		answers:    map[string]answer{},
		remembered: remembered,
	}
}

func (a account) do(call Call) (state, Outcome) {
	switch call.Op {
	case "get":
		held := int64(0)
		for _, session := range a.sessions {
			held += session.held
		}
		return a, Outcome{Code: "OK", Version: a.version, Amount: a.available, Held: held}
	case "topup", "debit":
		return a.balance(call)
	case "reserve":
		return a.reserve(call)
	case "update", "terminate":
		return a.settle(call)
	}
	panic("no call of an account: " + call.Op)
}

func (a account) balance(call Call) (state, Outcome) {
	if stored, is := a.answers[call.ID]; is {
		return a, again(stored, call)
	}
	a.version++
	outcome := Outcome{Code: "OK", Version: a.version}
	switch {
	case call.Op == "topup":
		a.available += call.Amount
		outcome.Amount = a.available
	case a.available < call.Amount:
		outcome.Code = "CREDIT_LIMIT_REACHED"
	default:
		a.available -= call.Amount
		outcome.Amount = call.Amount
	}
	if a.remembered[call.ID] {
		a.answers = with(a.answers, call.ID, answer{body(call), outcome})
	}
	return a, outcome
}

func (a account) reserve(call Call) (state, Outcome) {
	if known, is := a.sessions[call.ID]; is {
		if stored, is := known.answers[call.Number]; is {
			return a, again(stored, call)
		}
		return a, Outcome{Code: "SESSION_EXISTS"}
	}
	a.version++
	opened := session{}
	outcome := a.grant(&opened, call)
	if opened.open = outcome.Amount > 0; opened.open {
		opened.version, outcome.Version = 1, 1
	}
	opened.answers = map[int64]answer{call.Number: {body(call), outcome}}
	a.sessions = with(a.sessions, call.ID, opened)
	return a, outcome
}

func (a account) settle(call Call) (state, Outcome) {
	known, is := a.sessions[call.ID]
	if !is {
		return a, Outcome{Code: "UNKNOWN_SESSION"}
	}
	if stored, is := known.answers[call.Number]; is {
		return a, again(stored, call)
	}
	if !known.open {
		return a, Outcome{Code: "UNKNOWN_SESSION"}
	}
	if len(known.answers) == answersMax && call.Number < lowest(known.answers) {
		return a, Outcome{Code: "OUT_OF_WINDOW"}
	}
	a.version++
	// What was used comes from the hold, then from available, which may become a debt.
	late := call.Op == "update" && call.Number < known.lastGrant
	a.available -= call.Used
	if !late {
		a.available += known.held
		known.held = 0
	}
	outcome := Outcome{Code: "OK"}
	if call.Op == "terminate" {
		closed := session{answers: map[int64]answer{call.Number: {body(call), outcome}}}
		a.sessions = with(a.sessions, call.ID, closed)
		return a, outcome
	}
	if !late {
		outcome = a.grant(&known, call)
	}
	known.version++
	outcome.Version = known.version
	known.answers = with(known.answers, call.Number, answer{body(call), outcome})
	if len(known.answers) > answersMax {
		delete(known.answers, lowest(known.answers))
	}
	a.sessions = with(a.sessions, call.ID, known)
	return a, outcome
}

// grant moves what was requested, or what there is, to the session's hold.
func (a *account) grant(of *session, call Call) Outcome {
	granted := min(max(0, a.available), call.Requested)
	if granted == 0 {
		return Outcome{Code: "CREDIT_LIMIT_REACHED", Last: 1}
	}
	a.available -= granted
	of.held, of.lastGrant = granted, call.Number
	outcome := Outcome{Code: "OK", Amount: granted}
	if granted < call.Requested {
		outcome.Last = 1
	}
	return outcome
}

// body is what makes two calls the same.
func body(call Call) Call {
	call.Client, call.Call, call.End, call.Result = 0, 0, 0, nil
	return call
}

func again(stored answer, call Call) Outcome {
	if stored.body != body(call) {
		return Outcome{Code: "REQUEST_MISMATCH"}
	}
	stored.outcome.Replayed = 1
	return stored.outcome
}

func lowest(answers map[int64]answer) int64 {
	least := int64(-1)
	for number := range answers {
		if least < 0 || number < least {
			least = number
		}
	}
	return least
}

// with copies a map and sets one entry.
func with[K comparable, V any](of map[K]V, key K, value V) map[K]V {
	copied := make(map[K]V, len(of)+1)
	for key, value := range of {
		copied[key] = value
	}
	copied[key] = value
	return copied
}

func (a account) equal(other state) bool {
	b := other.(account)
	return a.available == b.available && a.version == b.version &&
		reflect.DeepEqual(a.sessions, b.sessions) && reflect.DeepEqual(a.answers, b.answers)
}

func (a account) hash() uint64 {
	return uint64(a.version)*1_000_003 + uint64(a.available)
}
