package redisstore_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/redisstore"
)

// The client needs two options that go-redis does not set by itself; New says
// which. It connects to nothing.
func ExampleNew() {
	client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:6379"})
	defer client.Close()
	if _, err := redisstore.New(client, redisstore.Options{}); err != nil {
		fmt.Println(err)
	}

	client = redis.NewClient(&redis.Options{
		Addr: "127.0.0.1:6379", ContextTimeoutEnabled: true, ReadTimeout: time.Second,
	})
	defer client.Close()
	_, err := redisstore.New(client, redisstore.Options{Prefix: "orders:"})
	fmt.Println(err)
	// Output:
	// redisstore: client option ContextTimeoutEnabled is false, so calls would outlast their deadline; set it to true
	// client option ReadTimeout × (MaxRetries + 1) is 5s × 4, want less than MinLease 30s / 3; set ReadTimeout to 1s
	// <nil>
}

// Consumers in Java and in Go share one record per message.
func ExampleNewJavaCompatible() {
	client := redis.NewClient(&redis.Options{
		Addr: "127.0.0.1:6379", ContextTimeoutEnabled: true, ReadTimeout: time.Second,
	})
	defer client.Close()
	records, err := redisstore.NewJavaCompatible(client, redisstore.Options{})
	if err != nil {
		log.Fatal(err)
	}
	// The application is the name that the original is given: by custom, the consumer group.
	key := store.Key{Application: "order-consumer", Topic: "TopicOrder", Tag: "TagA", ID: "A1001"}
	token := store.NewToken()
	verdict, err := records.Claim(context.Background(), store.ClaimRequest{
		Key: key, Token: token, Lease: 30 * time.Second, Horizon: 3 * time.Hour,
	})
	if err != nil || verdict.State != store.Claimed {
		log.Fatal("the original has it, or has done it: ", verdict, err)
	}
	// Redis now has MSGDEDUP:order-consumer:TopicOrder:TagA:A1001 = CONSUMING.
}

// A server that would lose records is found before the first message.
func ExampleStore_Check() {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	client := redis.NewClient(&redis.Options{
		Addr: "127.0.0.1:6379", ContextTimeoutEnabled: true, ReadTimeout: time.Second,
	})
	defer client.Close()
	records, err := redisstore.New(client, redisstore.Options{})
	if err != nil {
		log.Fatal(err)
	}
	if err := records.Check(ctx); err != nil {
		log.Fatal(err)
	}
}

// One key is run by hand. Consumers leave this to package dedup.
func ExampleStore_Claim() {
	ctx := context.Background()
	records, err := redisstore.New(redis.NewClient(&redis.Options{
		Addr: "127.0.0.1:6379", ContextTimeoutEnabled: true, ReadTimeout: time.Second,
	}), redisstore.Options{})
	if err != nil {
		log.Fatal(err)
	}
	key := store.Key{Application: "shipping", Topic: "orders", Tag: "paid", ID: "order-17"}
	token := store.NewToken()
	verdict, err := records.Claim(ctx, store.ClaimRequest{
		Key: key, Token: token, Lease: 30 * time.Second, Horizon: 3 * time.Hour,
	})
	if err != nil || verdict.State != store.Claimed {
		log.Fatal("not ours to run: ", verdict, err)
	}
	fmt.Println("shipped order-17")
	if _, err := records.Complete(ctx, key, token, 24*time.Hour); err != nil {
		log.Fatal(err)
	}
}
