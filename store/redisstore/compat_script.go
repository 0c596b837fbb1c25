package redisstore

import (
	"crypto/sha1"
	_ "embed" // for the scripts
	"encoding/hex"
)

//go:embed lua/compat.lua
var compatLua string

//go:embed lua/compat_claim.lua
var compatClaimLua string

//go:embed lua/compat_complete.lua
var compatCompleteLua string

// compatScripts has for every script the same rule over the records that are
// shared with the original.
var compatScripts = map[*script]*script{
	claimScript:    overShared(claimScript, compatClaimLua, claimLua),
	completeScript: overShared(completeScript, compatCompleteLua, completeLua),
	prolongScript:  overShared(prolongScript, "", prolongLua),
	releaseScript:  overShared(releaseScript, "", releaseLua),
	parkScript:     overShared(parkScript, "", parkLua),
	renewScript:    overShared(renewScript, "", renewLua),
	fenceScript:    overShared(fenceScript, "", fenceLua),
}

// overShared returns the script whose rule is given over shared records. usual
// is a short way for the case that most calls are.
func overShared(native *script, usual, rule string) *script {
	s := *native
	s.source = usual + recordLua + compatLua + rule
	if native.plain != nil {
		s.plain = overShared(native.plain, usual, rule)
		s.source = allowOOM + s.source
	}
	sum := sha1.Sum([]byte(s.source))
	s.sha = hex.EncodeToString(sum[:])
	return &s
}
