package linearizability

import (
	"maps"
	"slices"
	"testing"

	"github.com/anishathalye/porcupine"
)

// bug changes a history as a faulty server would have made it; false when it finds no place.
type bug struct {
	name string
	kind string
	seed func(calls []Call, at int) ([]Call, bool)
}

// after finds a call of this kind, about the same account, with a result that began when the one at
// `at` had ended.
func after(calls []Call, at int, ops ...string) (int, bool) {
	for i := range calls {
		if calls[i].Call > calls[at].End && calls[i].Account == calls[at].Account &&
			calls[i].Result != nil && slices.Contains(ops, calls[i].Op) {
			return i, true
		}
	}
	return 0, false
}

func isDone(call Call, op string) bool {
	return call.Op == op && call.Result != nil && call.Result.Code == "OK" && call.Result.Replayed == 0
}

// lone tells that no other call overlaps.
func lone(calls []Call, at int) bool {
	for i, call := range calls {
		if i != at && call.Call <= calls[at].End && call.End >= calls[at].Call {
			return false
		}
	}
	return true
}

var bugs = []bug{
	{"a read shows what was overwritten before it began", "register", func(calls []Call, at int) ([]Call, bool) {
		if !isDone(calls[at], "set") || !lone(calls, at) {
			return nil, false
		}
		overwritten, is := after(calls, at, "set")
		if !is || !lone(calls, overwritten) {
			return nil, false
		}
		read, is := after(calls, overwritten, "read")
		if is {
			result := *calls[read].Result
			result.Value = calls[at].Value
			calls[read].Result = &result
		}
		return calls, is
	}},
	{"an acknowledged write is lost", "register", func(calls []Call, at int) ([]Call, bool) {
		if !isDone(calls[at], "read") || !lone(calls, at) {
			return nil, false
		}
		write := calls[at]
		write.Op, write.Value, write.Result = "set", "lost", &Outcome{Code: "OK"}
		write.Call, write.End = calls[at].Call-2, calls[at].Call-1
		return slices.Insert(calls, at, write), true
	}},
	{"an acknowledged top-up is lost", "account", func(calls []Call, at int) ([]Call, bool) {
		if !isDone(calls[at], "topup") {
			return nil, false
		}
		if _, is := after(calls, at, "get", "topup"); !is {
			return nil, false
		}
		lost, result := calls[at], *calls[at].Result
		lost.ID, result.Version, result.Amount = "lost", result.Version+1, result.Amount+lost.Amount
		lost.Result, lost.Call, lost.End = &result, lost.End, lost.End+1
		return slices.Insert(calls, at+1, lost), true
	}},
	{"a read comes late", "account", func(calls []Call, at int) ([]Call, bool) {
		if !isDone(calls[at], "get") {
			return nil, false
		}
		topup, is := after(calls, at, "topup")
		if !is || !isDone(calls[topup], "topup") {
			return nil, false
		}
		stale := calls[at]
		stale.Call, stale.End = calls[topup].End+1, calls[topup].End+2
		return append(calls, stale), true
	}},
	{"a repeated debit is executed twice", "account", func(calls []Call, at int) ([]Call, bool) {
		if calls[at].Result == nil || calls[at].Op != "debit" || calls[at].Result.Replayed == 0 {
			return nil, false
		}
		result := *calls[at].Result
		result.Replayed = 0
		calls[at].Result = &result
		return calls, true
	}},
	{"a grant is added to the old hold", "account", func(calls []Call, at int) ([]Call, bool) {
		if !isDone(calls[at], "update") || calls[at].Result.Amount == 0 {
			return nil, false
		}
		get, is := after(calls, at, "get")
		if is {
			result := *calls[get].Result
			result.Held += calls[at].Result.Amount
			calls[get].Result = &result
		}
		return calls, is
	}},
	{"what was in doubt is executed after the crash", "account", func(calls []Call, at int) ([]Call, bool) {
		if calls[at].Result != nil || calls[at].Op != "topup" {
			return nil, false
		}
		get, is := after(calls, at, "get")
		if !is || calls[get].End > calls[at].End+1_000_000_000 {
			return nil, false
		}
		// The first read does not show it, the second does.
		second := calls[get]
		result := *second.Result
		result.Amount, result.Version = result.Amount+calls[at].Amount, result.Version+1
		second.Result, second.Call, second.End = &result, second.End, second.End+1
		return slices.Insert(calls, get+1, second), true
	}},
	{"a terminate is taken for the update of its number", "account", func(calls []Call, at int) ([]Call, bool) {
		if !isDone(calls[at], "update") {
			return nil, false
		}
		next, is := after(calls, at, "terminate")
		if !is || calls[next].ID != calls[at].ID || !isDone(calls[next], "terminate") {
			return nil, false
		}
		calls[next].Number = calls[at].Number
		calls[next].Result = &Outcome{Code: "REQUEST_MISMATCH"}
		return calls, true
	}},
	{"half of a chain is seen", "account", func(calls []Call, at int) ([]Call, bool) {
		if !isDone(calls[at], "chain") {
			return nil, false
		}
		links := calls[at].Links
		second := len(links) - 1
		if second == 0 || links[second].Op != "topup" {
			return nil, false
		}
		// Another top-up of the same amount, behind it, is answered as if that of the chain had not been.
		probe, answer := links[second], calls[at].Result.Links[second]
		probe.ID, probe.Call, probe.End, probe.Result = "half", calls[at].End, calls[at].End+1, &answer
		return slices.Insert(calls, at+1, probe), true
	}},
	{"a chain is carried out by half", "account", func(calls []Call, at int) ([]Call, bool) {
		call := calls[at]
		if call.Op != "chain" || call.Result == nil || call.Result.Denied == 0 || call.Result.Replayed == 1 {
			return nil, false
		}
		result := *call.Result
		result.Links = slices.Clone(result.Links)
		for i, link := range call.Links {
			if link.Op == "topup" && result.Links[i].Code == chainDenied {
				result.Links[i].Code = "OK"
				result.Links[i].Amount += link.Amount
				calls[at].Result = &result
				return calls, true
			}
		}
		return nil, false
	}},
	{"a limit is exceeded", "account", func(calls []Call, at int) ([]Call, bool) {
		get := calls[at]
		if !isDone(get, "get") || get.Result.Used == 0 || get.Result.Left >= get.Result.Amount {
			return nil, false
		}
		return slices.Insert(calls, at+1, debitBehind(get, get.Result.Left+1, "OK")), true
	}},
	{"a limit denies what it leaves", "account", func(calls []Call, at int) ([]Call, bool) {
		get := calls[at]
		if !isDone(get, "get") || min(get.Result.Left, get.Result.Amount) < 1 {
			return nil, false
		}
		return slices.Insert(calls, at+1, debitBehind(get, 1, creditLimitReached)), true
	}},
	{"a limit forgets what was used", "account", func(calls []Call, at int) ([]Call, bool) {
		if !isDone(calls[at], "get") || calls[at].Result.Used == 0 {
			return nil, false
		}
		result := *calls[at].Result
		result.Left, result.Used = result.Left+result.Used, 0
		calls[at].Result = &result
		return calls, true
	}},
}

// debitBehind is a debit right behind a read of the account: its version says that nothing is between.
func debitBehind(get Call, amount int64, code string) Call {
	result := Outcome{Code: code, Version: get.Result.Version + 1}
	if code == "OK" {
		result.Amount = amount
	}
	return Call{
		Call: get.End, End: get.End + 1, Op: "debit", Account: get.Account,
		ID: "behind", Amount: amount, Result: &result,
	}
}

// Each bug is seeded at every place of the kept histories that it fits.
func TestSeededBugsAreFound(t *testing.T) {
	histories := map[string]History{}
	for _, path := range []string{"testdata/kept.json", "testdata/slots.json"} {
		read, err := Read(path)
		if err != nil {
			t.Fatal(err)
		}
		maps.Copy(histories, read)
	}
	for _, bug := range bugs {
		places := 0
		for key, history := range histories {
			for at := range history.Calls {
				if history.Kind != bug.kind {
					break
				}
				seeded := history
				is := false
				if seeded.Calls, is = bug.seed(slices.Clone(history.Calls), at); !is {
					continue
				}
				places++
				if result := check(seeded); result != porcupine.Illegal {
					t.Errorf("%s, at call %d of %s: %s", bug.name, at, key, result)
				}
			}
		}
		if places == 0 {
			t.Errorf("%s: no place in the kept histories", bug.name)
		}
		t.Logf("%s: found at %d places", bug.name, places)
	}
}
