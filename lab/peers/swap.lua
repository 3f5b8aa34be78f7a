#!lua name=swap
-- What a client that decides by itself needs of Redis and Valkey: replace a value if it still is of
-- the version that was read. The version is a value's first eight bytes; '' where there was none.
-- WATCH with MULTI and EXEC does the same on a connection that nobody shares, in two requests more.

redis.register_function('swap', function(keys, args)
  if redis.call('GETRANGE', keys[1], 0, 7) ~= args[1] then return 0 end
  redis.call('SET', keys[1], args[2])
  return 1
end)

-- The same for many keys in one call: version, value, version, value, ... Gives 1 or 0 for each.
redis.register_function('swap_all', function(keys, args)
  local taken = {}
  for i, key in ipairs(keys) do
    if redis.call('GETRANGE', key, 0, 7) == args[2 * i - 1] then
      redis.call('SET', key, args[2 * i])
      taken[i] = 1
    else
      taken[i] = 0
    end
  end
  return taken
end)
