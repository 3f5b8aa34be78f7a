// Package linearizability asks porcupine whether what clients saw of a key can be explained by
// calls that were executed one at a time, each at a moment between its call and its end, also
// when the server was killed in between.
package linearizability

import (
	"encoding/json"
	"os"
	"reflect"

	"github.com/anishathalye/porcupine"
)

// Call is one call of a client. testing/crash writes it, and the tests of entities over HTTP.
type Call struct {
	Client int   `json:"client"`
	Call   int64 `json:"call"`
	// End is when it returned. Without a result it is the moment at which the server that had
	// it was surely gone: the call was executed before that, or never.
	End int64  `json:"end"`
	Op  string `json:"op"`
	// Account is which of the accounts of a hash slot it is about.
	Account   int    `json:"account"`
	ID        string `json:"id"`
	Value     string `json:"value"`
	Amount    int64  `json:"amount"`
	Number    int64  `json:"number"`
	Used      int64  `json:"used"`
	Requested int64  `json:"requested"`
	// Links are the commands of a chain: each has an account, an op and what belongs to it.
	Links  []Call   `json:"links"`
	Result *Outcome `json:"result"`
}

// Outcome is what came back. Fields that a kind of call does not have are zero.
type Outcome struct {
	Code     string `json:"code"`
	Replayed int64  `json:"replayed"`
	Version  int64  `json:"version"`
	Amount   int64  `json:"amount"`
	Held     int64  `json:"held"`
	Last     int64  `json:"last"`
	// Used and Left are of the limit, where the account has one.
	Used int64 `json:"used"`
	Left int64 `json:"left"`
	// Denied is the number of the command of a chain that stands for it, 0 where none is denied.
	Denied int64 `json:"denied"`
	// Links are the answers of the commands of a chain.
	Links []Outcome `json:"links"`
	// Value is what a register held, empty when it held nothing.
	Value string `json:"value"`
}

// History is all calls of one key, or of the accounts of one hash slot.
type History struct {
	// Kind is "account", "register" or "entity".
	Kind string `json:"kind"`
	// Accounts is how many accounts the hash slot has; 0 is one, too.
	Accounts int    `json:"accounts"`
	Credit   int64  `json:"credit"`
	Calls    []Call `json:"calls"`
}

func (o Outcome) equal(other Outcome) bool {
	return reflect.DeepEqual(o, other)
}

// Read reads a file of histories by their keys.
func Read(path string) (map[string]History, error) {
	bytes, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var histories map[string]History
	return histories, json.Unmarshal(bytes, &histories)
}

// Operations are the calls as porcupine wants them: the call is the input, its result (nil when
// there is none) the output.
func (h History) Operations() []porcupine.Operation {
	operations := make([]porcupine.Operation, len(h.Calls))
	for i, call := range h.Calls {
		operations[i] = porcupine.Operation{
			ClientId: i, // calls of one client overlap: it sends many at a time
			Input:    call,
			Call:     call.Call,
			Output:   call.Result,
			Return:   call.End,
		}
	}
	return operations
}

// Model is the sequential rules of the key.
func (h History) Model() porcupine.Model {
	switch h.Kind {
	case "register":
		return model(func() state { return register("") })
	case "entity":
		return model(func() state { return entity("") })
	}
	remembered := h.repeated()
	return model(func() state { return newPartition(max(1, h.Accounts), h.Credit, remembered) })
}

// remembered is the id of a balance command of an account.
type remembered struct {
	account int
	txn     string
}

// repeated finds the ids that more than one balance command carries: others need not be
// remembered.
func (h History) repeated() map[remembered]bool {
	seen, repeated := map[remembered]bool{}, map[remembered]bool{}
	note := func(call Call) {
		if call.Op == "topup" || call.Op == "debit" || call.Op == "limit" {
			id := remembered{call.Account, call.ID}
			repeated[id] = seen[id]
			seen[id] = true
		}
	}
	for _, call := range h.Calls {
		note(call)
		for _, link := range call.Links {
			note(link)
		}
	}
	return repeated
}

// state is the state of one key.
type state interface {
	// do executes a call and returns the next state; the old one stays as it is.
	do(call Call) (state, Outcome)
	equal(other state) bool
	hash() uint64
}

func model(init func() state) porcupine.Model {
	nondeterministic := porcupine.NondeterministicModel{
		Init: func() []interface{} { return []interface{}{init()} },
		Step: func(before, input, output interface{}) []interface{} {
			after, outcome := before.(state).do(input.(Call))
			result := output.(*Outcome)
			if result == nil {
				// Nobody knows: it was executed, or not.
				return []interface{}{before, after}
			}
			if !result.equal(outcome) {
				return nil
			}
			return []interface{}{after}
		},
		Equal: func(one, other interface{}) bool { return one.(state).equal(other.(state)) },
		Hash:  func(of interface{}) uint64 { return of.(state).hash() },
	}
	return nondeterministic.ToModel()
}
