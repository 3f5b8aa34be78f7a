#!lua name=index
-- An index on the value for Redis and Valkey as their documentation builds one: a set of keys for
-- every value, kept by whoever writes. One call, so that nobody sees half of it.

redis.register_function('index_put', function(keys, args)
  local key, value = keys[1], args[1]
  local before = redis.call('GET', key)
  if before == value then return 0 end
  if before then redis.call('SREM', 'index:' .. before, key) end
  redis.call('SET', key, value)
  redis.call('SADD', 'index:' .. value, key)
  return 1
end)
