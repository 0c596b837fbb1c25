package store_test

import (
	"fmt"
	"strings"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

// The name of a key keeps its parts apart whatever is in them, and stays short.
func ExampleKey_String() {
	fmt.Println(store.Key{Application: "billing", Topic: "orders", Tag: "paid", ID: "A1001"})
	fmt.Println(store.Key{Application: "billing", Topic: "orders", ID: "paid:A1001"})
	fmt.Println(store.Key{Application: "billing", Topic: "orders", ID: strings.Repeat("A1001", 1000)})
	// Output:
	// billing:orders:paid:A1001
	// billing:orders::paid%3AA1001
	// billing:orders::~4466b3e4307c93baf8c78947f7ed3c4eee2133aab0b9d870631f7c360114858f
}
