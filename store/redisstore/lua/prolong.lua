-- prolong: gives done back the longer keep that a complete without a script has just overwritten. A later owner's
-- claim stays as it is.
-- KEYS   1 record
-- ARGV   1 token, 2 keep
-- Result {1} done is kept at least that long
--        {0} it had ended, and somebody has claimed the key
local token, keep = ARGV[1], tonumber(ARGV[2])
if raw and not (record and record.kind == 'D') then return {0} end
if record and record.keep >= keep then return {1} end
write(keep, 'D', record and record.token or token, keep)
return {1}
