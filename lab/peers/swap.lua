#!lua name=swap
-- What a client that decides by itself needs of Redis and Valkey: replace a value if it still is of
-- the version that was read. The version is a value's first eight bytes; '' where there was none.
-- WATCH with MULTI and EXEC does the same on a connection that nobody shares, in two requests more.

redis.register_function('swap', function(keys, args)
  if redis.call('GETRANGE', keys[1], 0, 7) ~= args[1] then return 0 end
  redis.call('SET', keys[1], args[2])
  return 1
end)
