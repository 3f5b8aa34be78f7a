package linearizability

import "hash/fnv"

// register is a plain value; nothing is the empty one.
type register string

func (r register) do(call Call) (state, Outcome) {
	switch call.Op {
	case "set":
		return register(call.Value), Outcome{Code: "OK"}
	case "del":
		var deleted int64
		if r != "" {
			deleted = 1
		}
		return register(""), Outcome{Code: "OK", Amount: deleted}
	case "read":
		return r, Outcome{Code: "OK", Value: string(r)}
	}
	panic("no call of a register: " + call.Op)
}

func (r register) equal(other state) bool { return r == other.(register) }

func (r register) hash() uint64 {
	sum := fnv.New64a()
	sum.Write([]byte(r))
	return sum.Sum64()
}
