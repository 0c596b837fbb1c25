package redisstore

import (
	"crypto/sha1"
	_ "embed" // for the scripts
	"encoding/hex"
)

// script is one Lua script. All scripts begin with lua/record.lua.
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

// A claim must fail on a server without memory; whatever ends one must not.
// Renew needs no flag, because it writes no value.
var (
	claimScript    = newScript("", claimLua, 4, 3)
	completeScript = newScript(allowOOM, completeLua, 1, 1)
	prolongScript  = newScript(allowOOM, prolongLua, 1, 1)
	releaseScript  = newScript(allowOOM, releaseLua, 1, 1)
	parkScript     = newScript(allowOOM, parkLua, 1, 1)
	renewScript    = newScript("", renewLua, 0, 1)
	fenceScript    = newScript("", fenceLua, 0, 1)
)

const allowOOM = "#!lua flags=allow-oom\n"

func newScript(flags, body string, takes, answers int) *script {
	source := flags + recordLua + body
	sum := sha1.Sum([]byte(source))
	s := &script{source: source, sha: hex.EncodeToString(sum[:]), takes: takes, answers: answers}
	if flags != "" {
		s.plain = newScript("", body, takes, answers)
	}
	return s
}
