package linearizability

// entity is an entity over several nodes; nothing is the empty one. Unlike a
// register it does not say what was deleted. A write whose answer has not come may still be executed,
// once, until the end of the history.
type entity string

func (e entity) do(call Call) (state, Outcome) {
	switch call.Op {
	case "set":
		return entity(call.Value), Outcome{Code: "OK"}
	case "del":
		return entity(""), Outcome{Code: "OK"}
	case "read":
		return e, Outcome{Code: "OK", Value: string(e)}
	}
	panic("no call of an entity: " + call.Op)
}

func (e entity) equal(other state) bool { return e == other.(entity) }

func (e entity) hash() uint64 { return register(e).hash() }
