-- forget, before anything else: a value of another type is removed, which every other script leaves alone.
local dropped = 0
for _, key in ipairs(KEYS) do
  local value = redis.pcall('GET', key)
  if type(value) == 'table' and string.find(value.err, 'WRONGTYPE', 1, true) then
    redis.call('DEL', key)
    dropped = 1
  end
end
