package redisstore

import (
	"crypto/sha1"
	_ "embed" // for the scripts
	"encoding/hex"
)

// script is one Lua script. All that are about a record begin with lua/record.lua.
type script struct {
	source  string
	sha     string
	takes   int // how many numbers it takes, after the token
	answers int // how many numbers it answers
	// plain is the same script for servers that know no script flags, that is
	// Redis before 7.0. It is nil for a script without flags.
	plain *script
}

//go:embed lua/record.lua
var recordLua string

//go:embed lua/claim.lua
var claimLua string

//go:embed lua/complete.lua
var completeLua string

//go:embed lua/prolong.lua
var prolongLua string

//go:embed lua/release.lua
var releaseLua string

//go:embed lua/renew.lua
var renewLua string

//go:embed lua/park.lua
var parkLua string

//go:embed lua/fence.lua
var fenceLua string

//go:embed lua/look.lua
var lookLua string

//go:embed lua/forget_first.lua
var forgetFirstLua string

//go:embed lua/forget.lua
var forgetLua string

//go:embed lua/slot.lua
var slotLua string

// A claim must fail on a server without memory; whatever ends one must not.
// Renew and forget need no flag, because they write no value.
var (
	claimScript    = newScript("", claimLua, 4, 3)
	completeScript = newScript(allowOOM, completeLua, 1, 1)
	prolongScript  = newScript(allowOOM, prolongLua, 1, 1)
	releaseScript  = newScript(allowOOM, releaseLua, 1, 1)
	parkScript     = newScript(allowOOM, parkLua, 1, 1)
	renewScript    = newScript("", renewLua, 0, 1)
	fenceScript    = newScript("", fenceLua, 0, 1)
	lookScript     = newScript("", lookLua, 0, lookFields)
	forgetScript   = newScript("", forgetLua, 0, 1).after(forgetFirstLua)
	slotScript     = (&script{}).of(slotLua) // is about no record
)

const allowOOM = "#!lua flags=allow-oom\n"

func newScript(flags, body string, takes, answers int) *script {
	s := (&script{takes: takes, answers: answers}).of(flags + recordLua + body)
	if flags != "" {
		s.plain = newScript("", body, takes, answers)
	}
	return s
}

// of gives s its source.
func (s *script) of(source string) *script {
	sum := sha1.Sum([]byte(source))
	s.source, s.sha = source, hex.EncodeToString(sum[:])
	return s
}

// after has s begin with first, even before lua/record.lua.
func (s *script) after(first string) *script { return s.of(first + s.source) }
