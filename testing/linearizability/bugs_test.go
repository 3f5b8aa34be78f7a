package linearizability

import (
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

// after finds a call of this kind with a result that began when the one at `at` had ended.
func after(calls []Call, at int, ops ...string) (int, bool) {
	for i := range calls {
		if calls[i].Call > calls[at].End && calls[i].Result != nil && slices.Contains(ops, calls[i].Op) {
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
	return !slices.ContainsFunc(calls, func(call Call) bool {
		return call != calls[at] && call.Call <= calls[at].End && call.End >= calls[at].Call
	})
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
}

// Each bug is seeded at every place of the kept histories that it fits.
func TestSeededBugsAreFound(t *testing.T) {
	histories, err := Read("testdata/kept.json")
	if err != nil {
		t.Fatal(err)
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
