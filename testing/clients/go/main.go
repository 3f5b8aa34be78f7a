// A charging session and plain commands through go-redis. See ../README.md for the arguments.
package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

var (
	ctx      = context.Background()
	accounts = []string{"alice", "bob", "carol", "dave"}
	groups   = []string{"north", "south", "east", "west"}
)

const bytes = "\x00\r\n\xff$*"

// A wrong reply ends the program: the panic's trace says which line asked.
func check(right bool, what ...any) {
	if !right {
		panic(fmt.Sprint(what...))
	}
}

func succeeds(err error) { check(err == nil, err) }

func equal(got, expected any) {
	check(reflect.DeepEqual(got, expected), fmt.Sprintf("expected %#v, got %#v", expected, got))
}

func refused(err error, start string) {
	check(err != nil && strings.HasPrefix(err.Error(), start), "expected ", start, ", got ", err)
}

type list = []any

// RESP3 gives a map, RESP2 a flat list.
func asMap(reply any) map[string]any {
	shown := map[string]any{}
	switch reply := reply.(type) {
	case map[any]any:
		for key, value := range reply {
			shown[key.(string)] = value
		}
	case []any:
		for at := 0; at < len(reply); at += 2 {
			shown[reply[at].(string)] = reply[at+1]
		}
	default:
		panic(fmt.Sprintf("no map: %#v", reply))
	}
	return shown
}

func authentication(options redis.Options) {
	for password, start := range map[string]string{"wrong": "WRONGPASS", "": "NOAUTH"} {
		options.Password = password
		client := redis.NewClient(&options)
		refused(client.Ping(ctx).Err(), start)
		client.Close()
	}
}

func charging(client redis.UniversalClient, account string) {
	try := func(name string, arguments ...any) (any, error) {
		return client.Do(ctx, append(list{"SCUR." + name, account}, arguments...)...).Result()
	}
	run := func(expected any, name string, arguments ...any) {
		got, err := try(name, arguments...)
		succeeds(err)
		equal(got, expected)
	}
	fails := func(start, name string, arguments ...any) {
		_, err := try(name, arguments...)
		refused(err, start)
	}
	show := func(name string, arguments ...any) map[string]any {
		got, err := try(name, arguments...)
		succeeds(err)
		return asMap(got)
	}
	item := func(granted, final int64) list {
		return list{list{int64(1), "OK", granted, final, int64(0)}}
	}
	run(list{"OK", int64(1)}, "CREATE", "BUCKET", "main", "cent", 1000, "FLOOR", -50,
		"BUCKET", "gift", "cent", 100, "PRIORITY", -1)
	fails("ACCOUNT_EXISTS 21 ", "CREATE")
	run(list{"OK", int64(0), int64(2), int64(1500)}, "TOPUP", "t1", "main", 500)
	run(list{"OK", int64(1), int64(2), int64(1500)}, "TOPUP", "t1", "main", 500)
	fails("REQUEST_MISMATCH 32 ", "TOPUP", "t1", "main", 501)

	run(list{"OK", int64(0), int64(1), item(300, 0)},
		"RESERVE", "s1", 0, "DATA", bytes, "ITEM", 1, "cent", "REQUESTED", 300)
	update := list{"s1", 1, "ITEM", 1, "cent", "USED", 250, "REQUESTED", 5000}
	run(list{"OK", int64(0), int64(2), item(1400, 1)}, "UPDATE", update...)
	run(list{"OK", int64(1), int64(2), item(1400, 1)}, "UPDATE", update...)
	session := asMap(show("SESSION", "s1")["session"])
	equal(list{session["id"], session["version"], session["data"]}, list{"s1", int64(2), bytes})
	run(list{"CREDIT_LIMIT_REACHED", int64(0), "balance"}, "CHECK", "cent", 1)
	run(list{"OK", int64(0), int64(0), item(0, 0)},
		"TERMINATE", "s1", 2, "ITEM", 1, "cent", "USED", 350)
	fails("UNKNOWN_SESSION 30 ", "SESSION", "s1")

	shown := show("GET")
	equal(shown["buckets"].(list)[0],
		list{"main", "cent", int64(1000), int64(0), int64(-50), int64(0), int64(0), nil})
	equal(shown["sessions"], list{})
	equal(show("AUDIT")["ok"], int64(1))
	refused(client.Do(ctx, "SCUR.GET", "nobody").Err(), "UNKNOWN_ACCOUNT 20 ")
	refused(client.Get(ctx, account).Err(), "WRONGTYPE")
}

// Three accounts of one hash slot; the second has a limit.
func chains(client redis.UniversalClient, group string) {
	accounts := []string{"{" + group + "}", "{" + group + "}:team", "{" + group + "}:key"}
	team := accounts[1]
	run := func(expected any, words ...any) {
		got, err := client.Do(ctx, words...).Result()
		succeeds(err)
		equal(got, expected)
	}
	chain := func(expected list, command ...any) {
		words := list{"SCUR.CHAIN"}
		for _, account := range accounts {
			words = append(append(words, account, len(command)), command...)
		}
		run(expected, words...)
	}
	thrice := func(link list) list { return list{link, link, link} }
	for _, account := range accounts {
		run(list{"OK", int64(1)}, "SCUR.CREATE", account, "BUCKET", "main", "token", 1000)
	}
	run(list{"OK", int64(0), int64(2), int64(500)},
		"SCUR.LIMIT", team, "l1", "cap", "UNIT", "token", "AMOUNT", 500)
	for replayed := range int64(2) {
		link := list{"OK", replayed, int64(1),
			list{list{"input", "OK", int64(300), int64(0), int64(0)}}}
		chain(list{"OK", replayed, int64(0), thrice(link)},
			"RESERVE", "s1", 0, "ITEM", "input", "token", "REQUESTED", 300)
	}
	denied := func(code string, final int64, cause string) list {
		item := list{"input", code, int64(0), final, int64(0), cause}
		return list{code, int64(0), int64(0), list{item}}
	}
	other := denied("CHAIN_DENIED", 0, "chain")
	own := denied("CREDIT_LIMIT_REACHED", 1, "limit cap")
	chain(list{"CREDIT_LIMIT_REACHED", int64(0), int64(2), list{other, own, other}},
		"RESERVE", "s2", 0, "ITEM", "input", "token", "REQUESTED", 300, "MIN", 300)
	ended := list{"OK", int64(0), int64(0),
		list{list{"input", "OK", int64(0), int64(0), int64(0)}}}
	chain(list{"OK", int64(0), int64(0), thrice(ended)},
		"TERMINATE", "s1", 1, "ITEM", "input", "token", "USED", 250)
	shown, err := client.Do(ctx, "SCUR.GET", team).Result()
	succeeds(err)
	equal(asMap(shown)["limits"], list{list{"cap", "token", nil, int64(500), int64(250), int64(0),
		int64(250), int64(0), "none", int64(0), nil}})
	run(list{"CREDIT_LIMIT_REACHED", int64(0), int64(6), int64(0), "limit cap"},
		"SCUR.DEBIT", team, "d1", "token", 251)
}

func plain(client redis.UniversalClient) {
	succeeds(client.Set(ctx, "k", bytes, 0).Err())
	got, err := client.Get(ctx, "k").Result()
	succeeds(err)
	equal(got, bytes)
	check(errors.Is(client.Get(ctx, "none").Err(), redis.Nil), "none is there")
	succeeds(client.MSet(ctx, "{t}a", 1, "{t}b", 2).Err())
	many, err := client.MGet(ctx, "{t}a", "{t}none", "{t}b").Result()
	succeeds(err)
	equal(many, list{"1", nil, "2"})
	equal(client.Exists(ctx, "{t}a", "{t}a", "{t}none").Val(), int64(2))
	equal(client.Del(ctx, "{t}a", "{t}b", "{t}none").Val(), int64(2))
	equal(client.Ping(ctx).Val(), "PONG")
	replies, err := client.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		for number := range 500 {
			pipe.Set(ctx, "p"+strconv.Itoa(number), number, 0)
			pipe.Get(ctx, "p"+strconv.Itoa(number))
		}
		return nil
	})
	succeeds(err)
	equal(len(replies), 1000)
	for number := range 500 {
		equal(replies[2*number].(*redis.StatusCmd).Val(), "OK")
		equal(replies[2*number+1].(*redis.StringCmd).Val(), strconv.Itoa(number))
	}
}

// EXEC gives every reply; it does nothing when somebody has changed a watched key.
func transactions(client redis.UniversalClient) {
	change := func(pipe redis.Pipeliner) error {
		pipe.IncrBy(ctx, "{x}n", 2)
		pipe.Get(ctx, "{x}n")
		return nil
	}
	succeeds(client.Set(ctx, "{x}n", 1, 0).Err())
	replies, err := client.TxPipelined(ctx, change)
	succeeds(err)
	equal(replies[1].(*redis.StringCmd).Val(), "3")
	for _, meanwhile := range []bool{true, false} {
		err = client.Watch(ctx, func(watching *redis.Tx) error {
			if meanwhile {
				succeeds(client.Incr(ctx, "{x}n").Err())
			}
			_, err := watching.TxPipelined(ctx, change)
			return err
		}, "{x}n", "{x}none")
		check(errors.Is(err, redis.TxFailedErr) == meanwhile, err)
	}
	equal(client.Get(ctx, "{x}n").Val(), "6")
}

func expiry(client redis.UniversalClient) {
	equal(client.Set(ctx, "e", "v", 100*time.Second).Val(), "OK")
	left := client.TTL(ctx, "e").Val()
	check(left > 0 && left <= 100*time.Second, left)
	equal(client.Set(ctx, "e", "w", redis.KeepTTL).Val(), "OK")
	left = client.PTTL(ctx, "e").Val()
	check(left > 0 && left <= 100*time.Second, left)
	equal(client.Persist(ctx, "e").Val(), true)
	// go-redis gives the -1 and -2 of TTL as nanoseconds.
	equal(client.TTL(ctx, "e").Val(), time.Duration(-1))
	equal(client.TTL(ctx, "none").Val(), time.Duration(-2))
	equal(client.SetNX(ctx, "e", "x", 0).Val(), false)
	equal(client.GetSet(ctx, "e", "x").Val(), "w")
	equal(client.Incr(ctx, "n").Val(), int64(1))
	equal(client.IncrBy(ctx, "n", 9).Val(), int64(10))
	equal(client.Decr(ctx, "n").Val(), int64(9))
	refused(client.Incr(ctx, "e").Err(), "ERR value is not an integer or out of range")
	equal(client.GetDel(ctx, "n").Val(), "9")
	equal(client.Set(ctx, "f", "v", time.Millisecond).Val(), "OK")
	deadline := time.Now().Add(10 * time.Second)
	for !errors.Is(client.Get(ctx, "f").Err(), redis.Nil) {
		check(time.Now().Before(deadline), "a key did not expire")
	}
}

// Each node owns slots; a wrong one says MOVED, and a client with a wrong map follows it.
func moved(client *redis.ClusterClient, options redis.ClusterOptions) {
	slots, err := client.ClusterSlots(ctx).Result()
	succeeds(err)
	check(len(slots) > 1, slots)
	owner := func(slot int64) string {
		for _, owned := range slots {
			if int(slot) >= owned.Start && int(slot) <= owned.End {
				return owned.Nodes[0].Addr
			}
		}
		panic(fmt.Sprint("nobody owns slot ", slot))
	}
	first := slots[0].Nodes[0].Addr
	direct := redis.NewClient(&redis.Options{
		Addr: first, Password: options.Password, Protocol: options.Protocol})
	defer direct.Close()
	options.ClusterSlots = func(context.Context) ([]redis.ClusterSlot, error) {
		return []redis.ClusterSlot{{Start: 0, End: 16383,
			Nodes: []redis.ClusterNode{{Addr: first}}}}, nil
	}
	misled := redis.NewClusterClient(&options)
	defer misled.Close()
	elsewhere := 0
	for number := range 200 {
		key := "p" + strconv.Itoa(number)
		slot, err := client.ClusterKeySlot(ctx, key).Result()
		succeeds(err)
		own := owner(slot)
		err = direct.Set(ctx, key, number, 0).Err()
		if own == first {
			succeeds(err)
		} else {
			elsewhere++
			equal(err.Error(), fmt.Sprintf("MOVED %d %s", slot, own))
		}
		equal(misled.Set(ctx, key, -number, 0).Val(), "OK")
		equal(client.Get(ctx, key).Val(), strconv.Itoa(-number))
	}
	check(elsewhere > 0, "one node owns everything")
	refused(direct.MGet(ctx, "p0", "p1").Err(), "CROSSSLOT")
}

func main() {
	mode, password, parts := os.Args[2], os.Args[4], os.Args[5]
	protocol, err := strconv.Atoi(os.Args[3])
	succeeds(err)
	_, _, err = net.SplitHostPort(os.Args[1])
	succeeds(err)
	if password == "-" {
		password = ""
	}
	options := redis.Options{Addr: os.Args[1], Password: password, Protocol: protocol}
	many := redis.ClusterOptions{
		Addrs: []string{os.Args[1]}, Password: password, Protocol: protocol}
	var client redis.UniversalClient = redis.NewClient(&options)
	if mode == "cluster" {
		client = redis.NewClusterClient(&many)
	}
	defer client.Close()
	for _, part := range strings.Split(parts, ",") {
		switch part {
		case "auth":
			authentication(options)
		case "charging":
			for _, account := range accounts {
				charging(client, account)
			}
		case "chains":
			for _, group := range groups {
				chains(client, group)
			}
		case "plain":
			plain(client)
		case "transactions":
			transactions(client)
		case "expiry":
			expiry(client)
		case "moved":
			moved(client.(*redis.ClusterClient), many)
		default:
			panic("unknown part " + part)
		}
	}
	fmt.Printf("go-redis %s: %s resp%d %s ok\n", redis.Version(), mode, protocol, parts)
}
