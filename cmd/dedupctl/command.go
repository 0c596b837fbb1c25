package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/apache/rocketmq-client-go/v2/primitive"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/dedup"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

// exitPermanent is EX_DATAERR of sysexits.h: the input is wrong and will stay so.
const exitPermanent = 65

// handle runs the command for one message.
func (c *command) handle(ctx context.Context, m *primitive.MessageExt) error {
	claim, _ := dedup.FromContext(ctx)
	state, err := c.run(ctx, append(c.env, variables(claim, m)...), m.Body)
	if err != nil {
		return fmt.Errorf("command: %w", err)
	}
	return verdict(ctx, state)
}

func verdict(ctx context.Context, state *os.ProcessState) error {
	switch code := state.ExitCode(); {
	case code == 0:
		return nil
	case code == exitPermanent:
		return dedup.Permanent(fmt.Errorf("command: %s", state))
	case ctx.Err() != nil:
		return fmt.Errorf("command: %s: %w", state, context.Cause(ctx))
	}
	return fmt.Errorf("command: %s", state)
}

// variables are what the command is told about the message. A variable cannot
// hold a NUL, which a key may: it is written as a store's names write it.
func variables(claim dedup.Running, m *primitive.MessageExt) []string {
	id := claim.Key.ID
	if len(id) > store.MaxPart {
		id = claim.Key.Bounded().ID
	}
	variables := []string{
		"DEDUP_TOPIC=" + claim.Key.Topic,
		"DEDUP_TAG=" + claim.Key.Tag,
		"DEDUP_KEY=" + id,
		"DEDUP_MESSAGE_ID=" + m.MsgId,
		"DEDUP_RECONSUME_TIMES=" + strconv.Itoa(int(m.ReconsumeTimes)),
		"DEDUP_ATTEMPT=" + strconv.Itoa(claim.Attempt),
	}
	for i, v := range variables {
		variables[i] = strings.ReplaceAll(v, "\x00", "%00")
	}
	return variables
}

// inherited is env without our own settings, some of which are secret.
func inherited(env []string) []string {
	kept := make([]string, 0, len(env))
	for _, v := range env {
		if !strings.HasPrefix(v, "DEDUP_") {
			kept = append(kept, v)
		}
	}
	return kept[:len(kept):len(kept)] // so that appending copies
}
