package linearizability

import (
	"cmp"
	"maps"
	"math"
	"reflect"
	"slices"
)

const (
	creditLimitReached = "CREDIT_LIMIT_REACHED"
	chainDenied        = "CHAIN_DENIED"
)

// answersMax is how many answers an open session keeps.
const answersMax = 8

// account is an account with one bucket, whose floor is 0, at most one limit, and sessions of one
// item each. docs/ledger.md has the rules.
type account struct {
	available int64
	version   int64
	// limit of all that is used of the unit, without a period; used of it
	isLimited   bool
	limit, used int64
	sessions    map[string]session
	// answers of balance commands, by their transaction ids
	answers    map[string]answer
	remembered map[string]bool
	// isDenied tells that another command of the chain was denied: nothing moves but what was used
	isDenied bool
}

// session is an open session, or what is remembered of a closed one: its last answer.
type session struct {
	open      bool
	held      int64
	version   int64
	lastGrant int64
	answers   map[requestName]answer
	// dropped are numbers whose answers are gone, or were never kept.
	dropped map[int64]bool
}

// requestName is the name of a request within its session: its number and its kind.
type requestName struct {
	number int64
	op     string
}

func nameOf(call Call) requestName { return requestName{call.Number, call.Op} }

// compare orders names by their numbers, those of one number as reserve, update, terminate.
func (n requestName) compare(other requestName) int {
	ops := []string{"reserve", "update", "terminate"}
	return cmp.Or(
		cmp.Compare(n.number, other.number),
		cmp.Compare(slices.Index(ops, n.op), slices.Index(ops, other.op)),
	)
}

// answer is what is given again to the same body.
type answer struct {
	body    body
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

func (a account) do(call Call) (account, Outcome) {
	switch call.Op {
	case "get":
		outcome := Outcome{Code: "OK", Version: a.version, Amount: a.available, Held: a.held()}
		if a.isLimited {
			outcome.Used, outcome.Left = a.used, a.left()
		}
		return a, outcome
	case "topup", "debit", "limit":
		return a.balance(call)
	case "reserve":
		return a.reserve(call)
	case "update", "terminate":
		return a.settle(call)
	}
	panic("no call of an account: " + call.Op)
}

func (a account) held() int64 {
	held := int64(0)
	for _, session := range a.sessions {
		held += session.held
	}
	return held
}

// left is what the limit leaves.
func (a account) left() int64 {
	if !a.isLimited {
		return math.MaxInt64
	}
	return max(0, a.limit-a.used-a.held())
}

func (a account) balance(call Call) (account, Outcome) {
	if stored, is := a.answers[call.ID]; is {
		return a, again(stored, call)
	}
	a.version++
	outcome := Outcome{Code: "OK", Version: a.version}
	switch {
	case a.isDenied:
		outcome.Code = chainDenied
		if call.Op == "topup" {
			outcome.Amount = a.available
		}
	case call.Op == "topup":
		a.available += call.Amount
		outcome.Amount = a.available
	case call.Op == "limit":
		a.isLimited, a.limit = true, call.Amount
		outcome.Amount = a.left()
	case min(a.available, a.left()) < call.Amount:
		outcome.Code = creditLimitReached
	default:
		a.available -= call.Amount
		a.use(call.Amount)
		outcome.Amount = call.Amount
	}
	if a.remembered[call.ID] {
		a.answers = with(a.answers, call.ID, answer{bodyOf(call), outcome})
	}
	return a, outcome
}

// use counts what was used, where there is a limit that counts it.
func (a *account) use(amount int64) {
	if a.isLimited {
		a.used += amount
	}
}

func (a account) reserve(call Call) (account, Outcome) {
	if known, is := a.sessions[call.ID]; is {
		if stored, is := known.answers[nameOf(call)]; is {
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
	opened.answers = map[requestName]answer{nameOf(call): {bodyOf(call), outcome}}
	a.sessions = with(a.sessions, call.ID, opened)
	return a, outcome
}

func (a account) settle(call Call) (account, Outcome) {
	known, is := a.sessions[call.ID]
	if !is {
		return a, Outcome{Code: "UNKNOWN_SESSION"}
	}
	name := nameOf(call)
	if stored, is := known.answers[name]; is {
		return a, again(stored, call)
	}
	if !known.open {
		return a, Outcome{Code: "UNKNOWN_SESSION"}
	}
	// Below the window a name is new in a gap: its number was never answered while answers above it were dropped.
	below := len(known.answers) == answersMax && name.compare(lowest(known.answers)) < 0
	if below && (len(known.dropped) == 0 || known.answered(call.Number)) {
		return a, Outcome{Code: "OUT_OF_WINDOW"}
	}
	a.version++
	// What was used comes from the hold, then from available, which may become a debt.
	late := call.Op == "update" && (below || call.Number < known.lastGrant)
	a.available -= call.Used
	a.use(call.Used)
	if !late {
		a.available += known.held
		known.held = 0
	}
	outcome := Outcome{Code: "OK"}
	if call.Op == "terminate" && !a.isDenied {
		closed := session{answers: map[requestName]answer{name: {bodyOf(call), outcome}}}
		a.sessions = with(a.sessions, call.ID, closed)
		return a, outcome
	}
	a.sessions = with(a.sessions, call.ID, known)
	if !late || a.isDenied {
		outcome = a.grant(&known, call)
	}
	known.version++
	outcome.Version = known.version
	known.answers = with(known.answers, name, answer{bodyOf(call), outcome})
	if len(known.answers) > answersMax {
		least := lowest(known.answers)
		delete(known.answers, least)
		known.dropped = with(known.dropped, least.number, true)
	}
	a.sessions = with(a.sessions, call.ID, known)
	return a, outcome
}

// grant moves what was requested, or what there is, to the session's hold.
func (a *account) grant(of *session, call Call) Outcome {
	if a.isDenied {
		return Outcome{Code: chainDenied}
	}
	granted := min(max(0, a.available), call.Requested, a.left())
	final := a.final(call, granted)
	if granted == 0 {
		return Outcome{Code: creditLimitReached, Last: final}
	}
	a.available -= granted
	of.held, of.lastGrant = granted, call.Number
	return Outcome{Code: "OK", Amount: granted, Last: final}
}

// final tells why less was granted than requested: 2 if other sessions hold more, which may come back, else 1. The
// session itself holds nothing.
func (a *account) final(call Call, granted int64) int64 {
	if granted >= call.Requested {
		return 0
	}
	var held int64
	for _, other := range a.sessions {
		held += other.held
	}
	alone := min(max(0, a.available+held), call.Requested)
	if a.isLimited {
		alone = min(alone, max(0, a.limit-a.used))
	}
	if alone > granted {
		return 2
	}
	return 1
}

// body is what makes two calls the same.
type body struct {
	op, id                          string
	amount, number, used, requested int64
}

func bodyOf(call Call) body {
	return body{call.Op, call.ID, call.Amount, call.Number, call.Used, call.Requested}
}

func again(stored answer, call Call) Outcome {
	if stored.body != bodyOf(call) {
		return Outcome{Code: "REQUEST_MISMATCH"}
	}
	stored.outcome.Replayed = 1
	return stored.outcome
}

func lowest(answers map[requestName]answer) requestName {
	return slices.MinFunc(slices.Collect(maps.Keys(answers)), requestName.compare)
}

// answered tells whether a request of this number was answered, whatever its kind.
func (s session) answered(number int64) bool {
	for name := range s.answers {
		if name.number == number {
			return true
		}
	}
	return s.dropped[number]
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

func (a account) equal(b account) bool {
	return a.available == b.available && a.version == b.version &&
		a.isLimited == b.isLimited && a.limit == b.limit && a.used == b.used &&
		reflect.DeepEqual(a.sessions, b.sessions) && reflect.DeepEqual(a.answers, b.answers)
}

func (a account) hash() uint64 {
	return uint64(a.version)*1_000_003 + uint64(a.available)
}
