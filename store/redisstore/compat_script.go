package redisstore

import _ "embed" // for the script

//go:embed lua/compat.lua
var compatLua string

// compatScripts has for every script the same rule, with the same flags, over
// the records that are shared with the original.
var compatScripts = map[*script]*script{
	claimScript:    newScript("", compatLua+claimLua, 3),
	completeScript: newScript(allowOOM, compatLua+completeLua, 1),
	releaseScript:  newScript(allowOOM, compatLua+releaseLua, 1),
	parkScript:     newScript(allowOOM, compatLua+parkLua, 1),
	renewScript:    newScript("", compatLua+renewLua, 1),
	fenceScript:    newScript("", compatLua+fenceLua, 1),
}
