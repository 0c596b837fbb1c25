package redisstore

import _ "embed" // for the scripts

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
	lookScript:     overShared(lookScript, "", lookLua),
	forgetScript:   overShared(forgetScript, forgetFirstLua, forgetLua),
}

// overShared returns the script whose rule is given over shared records. usual
// goes before all else: a short way for the case that most calls are.
func overShared(native *script, usual, rule string) *script {
	s, source := *native, usual+recordLua+compatLua+rule
	if native.plain != nil {
		s.plain = overShared(native.plain, usual, rule)
		source = allowOOM + source
	}
	return s.of(source)
}
