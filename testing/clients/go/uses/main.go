// What rueidis, which caches in the client, and a Redlock of Go need. See ../../README.md for the arguments.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"reflect"
	"strings"
	"time"

	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
)

var ctx = context.Background()

func succeeds(err error) {
	if err != nil {
		log.Panic(err)
	}
}

func equal(got, expected any) {
	if !reflect.DeepEqual(got, expected) {
		log.Panicf("expected %v, got %v", expected, got)
	}
}

func refused(err error, word string) {
	if err == nil || !strings.Contains(err.Error(), word) {
		log.Panicf("expected an error with %s, got %v", word, err)
	}
}

// Any reply as Go has it.
func reply(client rueidis.Client, name, key string, arguments ...string) any {
	command := client.B().Arbitrary(name).Keys(key).Args(arguments...).Build()
	got, err := client.Do(ctx, command).ToAny()
	succeeds(err)
	return got
}

func values(client rueidis.Client, account string) {
	type list = []any
	equal(reply(client, "SCUR.CREATE", account, "BUCKET", "main", "cent", "100"), list{"OK", int64(1)})
	equal(reply(client, "SCUR.RESERVE", account, "s1", "0", "ITEM", "1", "cent", "REQUESTED", "30"),
		list{"OK", int64(0), int64(1), list{list{int64(1), "OK", int64(30), int64(0), int64(0)}}})
	equal(reply(client, "SET", "one", "1", "EX", "60"), "OK")
	several := client.DoMulti(ctx, client.B().Incr().Key("one").Build(), client.B().Get().Key("one").Build())
	number, err := several[0].ToInt64()
	succeeds(err)
	equal(number, int64(2))
	succeeds(client.Dedicated(func(own rueidis.DedicatedClient) error {
		succeeds(own.Do(ctx, own.B().Watch().Key("one").Build()).Error())
		replies := own.DoMulti(ctx, own.B().Multi().Build(), own.B().Incr().Key("one").Build(),
			own.B().Exec().Build())
		got, err := replies[2].ToAny()
		equal(got, list{int64(3)})
		return err
	}))
	refused(rueidis.NewLuaScript("return 1").Exec(ctx, client, nil, nil).Error(), "runs no scripts")
}

// The second read is the client's own, and a change by somebody else is heard.
func cache(client rueidis.Client, other *redis.Client) {
	read := func() (string, bool) {
		got := client.DoCache(ctx, client.B().Get().Key("watched").Cache(), time.Hour)
		text, err := got.ToString()
		succeeds(err)
		return text, got.IsCacheHit()
	}
	for round := range 5 {
		value := fmt.Sprint("value ", round)
		succeeds(other.Set(ctx, "watched", value, 0).Err())
		patience := time.Now().Add(time.Minute)
		for text, _ := read(); text != value; text, _ = read() {
			if time.Now().After(patience) {
				log.Panic("the cache does not hear of a change")
			}
		}
		text, hit := read()
		equal([]any{text, hit}, []any{value, true})
	}
}

func main() {
	address := os.Args[1]
	other := redis.NewClient(&redis.Options{Addr: address})
	// As it comes it finds a cluster; told so, it stays on the main port, where keys may be of any slots.
	for _, single := range []bool{false, true} {
		client, err := rueidis.NewClient(
			rueidis.ClientOption{InitAddress: []string{address}, ForceSingleClient: single})
		succeeds(err)
		values(client, fmt.Sprint("rueidis-", single))
		cache(client, other)
		if single {
			equal(reply(client, "MSET", "one", "1", "two", "2"), "OK")
			equal(reply(client, "MGET", "one", "two"), []any{"1", "2"})
		}
		client.Close()
	}
	// It takes the lock by a command, and wants a script to give it back.
	lock := redsync.New(goredis.NewPool(other)).NewMutex("redsync", redsync.WithTries(1))
	succeeds(lock.Lock())
	_, err := lock.Unlock()
	refused(err, "runs no scripts")
	held, err := other.Get(ctx, "redsync").Result()
	succeeds(err)
	equal(held, lock.Value())
	fmt.Println("uses: rueidis, redsync: right")
}
