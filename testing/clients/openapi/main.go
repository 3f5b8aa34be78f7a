// Command main charges, and keeps an entity, through the clients that openapi-generator makes of the door's
// own documents. It ends with an error at the first answer that is wrong.
//
//	PROGRAM CHARGING-URL ENTITIES-URL
package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"

	"scurry.example/openapi/charging"
	"scurry.example/openapi/entities"
)

func must[T any](value T, _ *http.Response, err error) T {
	if err != nil {
		log.Panic(err)
	}
	return value
}

// The problem that a request has to end with.
func problem[T any](_ T, response *http.Response, err error) (int, charging.Problem) {
	var failure *charging.GenericOpenAPIError
	if !errors.As(err, &failure) {
		log.Panicf("not refused: %v", err)
	}
	told, ok := failure.Model().(charging.Problem)
	if !ok {
		log.Panicf("no problem: %s", failure.Body())
	}
	return response.StatusCode, told
}

func expect(isSo bool, what any) {
	if !isSo {
		log.Panicf("wrong: %+v", what)
	}
}

func positive(amount int64) charging.PositiveAmount { return charging.Int64AsPositiveAmount(&amount) }

func least(amount int64) charging.NonNegativeAmount {
	return charging.Int64AsNonNegativeAmount(&amount)
}

func charge(url string) {
	const account = "go/1"
	context := context.Background()
	settings := charging.NewConfiguration()
	settings.Servers = charging.ServerConfigurations{{URL: url}}
	client := charging.NewAPIClient(settings)

	created := charging.NewAccountCreation()
	created.SetBuckets([]charging.BucketCreation{*charging.NewBucketCreation(least(1000), "main", "cent")})
	creation := client.AccountsAPI.CreateAccount(context, account).AccountCreation(*created)
	must(creation.Execute())
	status, told := problem(creation.Execute())
	expect(status == 409 && told.Code == "ACCOUNT_EXISTS", told)

	body := charging.NewDebit()
	body.SetUnit("cent")
	body.SetAmount(positive(30))
	debit := client.DebitsAPI.Debit(context, account).IdempotencyKey("d-1").Debit(*body)
	expect(!must(debit.Execute()).Replayed, "the first")
	again := must(debit.Execute())
	expect(again.Replayed && *again.Amount.Int64 == 30, again)
	much := charging.NewDebit()
	much.SetUnit("cent")
	much.SetAmount(positive(5000))
	status, told = problem(client.DebitsAPI.Debit(context, account).IdempotencyKey("d-2").Debit(*much).Execute())
	expect(status == 402 && told.Code == "CREDIT_LIMIT_REACHED" && told.GetCause() == "balance", told)

	key := int64(1)
	item := charging.NewItemRequest(charging.Int64AsItemKey(&key), positive(100), "cent")
	opening := charging.NewSessionOpening(0)
	opening.SetItems([]charging.ItemRequest{*item})
	opened := must(client.SessionsAPI.CreateSession(context, account, "s").SessionOpening(*opening).Execute())
	expect(*opened.Items[0].Granted.Int64 == 100, opened)
	use := charging.NewUpdatedItem(charging.Int64AsItemKey(&key), "cent")
	use.SetUsed(least(60))
	use.SetRequested(least(50))
	update := charging.NewSessionUpdate(1)
	update.SetItems([]charging.UpdatedItem{*use})
	must(client.SessionsAPI.UpdateSession(context, account, "s").SessionUpdate(*update).Execute())
	end := charging.NewSessionEnd(2)
	end.SetItems([]charging.EndedItem{*charging.NewEndedItem(charging.Int64AsItemKey(&key), "cent", least(10))})
	must(client.SessionsAPI.TerminateSession(context, account, "s").SessionEnd(*end).Execute())

	reserve := charging.NewChainedReserve(account, "reserve", 0, "t")
	reserve.SetItems([]charging.ItemRequest{*item})
	chained := charging.NewChain([]charging.ChainedCommand{charging.ChainedReserveAsChainedCommand(reserve)})
	answer := must(client.ChainsAPI.Chain(context).Chain(*chained).Execute())
	expect(answer.Answers[0].SessionAnswer.Code == "OK", answer)

	shown := must(client.AccountsAPI.GetAccount(context, account).Execute())
	expect(*shown.Buckets[0].Available.Int64 == 800 && *shown.Buckets[0].Held.Int64 == 100, shown)
	entries := must(client.AccountsAPI.GetStatement(context, account).Execute()).Entries
	expect(len(entries) > 0, entries)
}

func keep(url string) {
	context := context.Background()
	settings := entities.NewConfiguration()
	settings.Servers = entities.ServerConfigurations{{URL: url}}
	client := entities.NewAPIClient(settings).EntitiesAPI
	file, err := os.CreateTemp("", "value")
	if err != nil {
		log.Panic(err)
	}
	defer os.Remove(file.Name())
	if _, err := file.WriteString("blue"); err != nil {
		log.Panic(err)
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		log.Panic(err)
	}
	if _, err := client.PutEntity(context).Id("go").Body(file).Execute(); err != nil {
		log.Panic(err)
	}
	read := must(client.GetEntity(context).Id("go").Execute())
	value, err := io.ReadAll(read)
	expect(err == nil && bytes.Equal(value, []byte("blue")), value)
	if _, err := client.DeleteEntity(context).Id("go").Execute(); err != nil {
		log.Panic(err)
	}
	expect(must(client.GetEntityStatus(context).Execute()).Ready, "it is ready")
}

func main() {
	charge(os.Args[1])
	keep(os.Args[2])
	fmt.Println("all right")
}
