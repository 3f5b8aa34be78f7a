// Debits through go-redis while the leader of a group dies. See ../../README.md for the arguments.
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sort"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	// Of each part: before the leader dies, and after it.
	debits = 200
	// Between two attempts of the application, and how long it tries one debit.
	pause    = 20 * time.Millisecond
	patience = 120 * time.Second
)

// Together these retries last longer than an election. Each greets the server with as many of its own, also where
// the connection has ended: with many long ones a node that has none to forward to holds a request for seconds. A
// node that is down is dialled once by each.
const (
	retries     = 10
	minBackoff  = 10 * time.Millisecond
	maxBackoff  = 100 * time.Millisecond
	dialRetries = 1
)

// Of a cluster these retries are not within each other.
const redirects = 50

func connect(mode string, addresses []string) redis.UniversalClient {
	switch mode {
	case "cluster":
		// What MaxRetries is elsewhere, MaxRedirects is here. A connection that ends does not have it ask
		// for the slots, only time does.
		return redis.NewClusterClient(&redis.ClusterOptions{Addrs: addresses,
			ClusterStateReloadInterval: 500 * time.Millisecond, DialerRetries: dialRetries,
			MaxRedirects: redirects, MinRetryBackoff: minBackoff, MaxRetryBackoff: maxBackoff})
	case "sentinel":
		return redis.NewFailoverClient(&redis.FailoverOptions{
			MasterName: "scurry", SentinelAddrs: addresses, DialerRetries: dialRetries,
			MaxRetries: retries, MinRetryBackoff: minBackoff, MaxRetryBackoff: maxBackoff})
	default:
		return redis.NewClient(&redis.Options{Addr: addresses[0], DialerRetries: dialRetries,
			MaxRetries: retries, MinRetryBackoff: minBackoff, MaxRetryBackoff: maxBackoff})
	}
}

// The first word of what the server says, or what has happened to the connection.
func kind(err error) string {
	var said redis.Error
	var dial *net.OpError
	switch {
	case errors.As(err, &said):
		return strings.SplitN(said.Error(), " ", 2)[0]
	case errors.Is(err, io.EOF):
		return "EOF"
	case errors.As(err, &dial):
		return dial.Op
	default:
		return strings.ReplaceAll(err.Error(), " ", "_")
	}
}

func main() {
	ctx := context.Background()
	mode := os.Args[1]
	client := connect(mode, strings.Split(os.Args[2], ","))
	defer client.Close()
	var killed atomic.Bool
	go func() {
		if _, err := bufio.NewReader(os.Stdin).ReadString('\n'); err == nil {
			killed.Store(true)
		}
	}()
	kinds := map[string]int{}
	failed, gap := 0, time.Duration(0)
	number, last, answered := 0, debits, time.Now()
	for number < last {
		reply, err := client.Do(ctx, "SCUR.DEBIT", "purse-"+mode,
			fmt.Sprintf("txn-%d", number), "cent", 1).Slice()
		if err != nil {
			// Whether it was done is not known: the same id again.
			kinds[kind(err)]++
			failed++
			if time.Since(answered) > patience {
				panic(err)
			}
			time.Sleep(pause)
			continue
		}
		if reply[0] != "OK" || reply[3] != int64(1) {
			panic(fmt.Sprint(reply))
		}
		gap, answered = max(gap, time.Since(answered)), time.Now()
		number++
		if number == debits {
			fmt.Println("half")
		}
		if !killed.Load() {
			last = number + debits
		}
	}
	saw := []string{}
	for kind, count := range kinds {
		saw = append(saw, fmt.Sprintf("%s:%d", kind, count))
	}
	sort.Strings(saw)
	if failed == 0 {
		saw = append(saw, "none")
	}
	fmt.Printf("debits=%d errors=%d kinds=%s gap_ms=%d go-redis %s %s\n",
		number, failed, strings.Join(saw, ","), gap.Milliseconds(), redis.Version(), mode)
}
