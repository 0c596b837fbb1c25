package redisstore

import _ "embed" // for the script

//go:embed lua/compat.lua
var compatLua string

// compatScripts has for every script the same rule, with the same flags, over
// the records that are shared with the original.
var compatScripts = map[*script]*script{
	claimScript:    newScript("", compatLua+claimLua, 4, 3),
	completeScript: newScript(allowOOM, compatLua+completeLua, 1, 1),
	prolongScript:  newScript(allowOOM, compatLua+prolongLua, 1, 1),
	releaseScript:  newScript(allowOOM, compatLua+releaseLua, 1, 1),
	parkScript:     newScript(allowOOM, compatLua+parkLua, 1, 1),
	renewScript:    newScript("", compatLua+renewLua, 0, 1),
	fenceScript:    newScript("", compatLua+fenceLua, 0, 1),
}
