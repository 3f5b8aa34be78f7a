#!lua name=scur
-- The opponent: the charging rules of docs/ledger.md as a Lua library for Valkey and Redis, as
-- far as the scenarios moaf-scur, charglt, charging-live and charging-hot and the lab's probe need
-- them, with the same replies as SCUR.*.
-- It is meant to be as fast as idiomatic Lua can make it:
--  * one hash per account: field '' holds the account, field <session id> that session, open or
--    the tombstone that it left. A call is one HMGET and, when it writes, one HSET, and never
--    touches the account's other sessions.
--  * records are flat: one struct.unpack into one table, one struct.pack back, with the formats
--    cached by the counts in a record's first bytes. Measured against the same rules over nested
--    arrays packed by cmsgpack, which made and walked a table per bucket, item and answer:
--    docs/lab.md has the figures of both.
--  * what a request rarely reads stays packed: the stored answers of a session and the
--    tombstones of an account are tails behind their records, appended to as strings;
--  * buckets are kept in burn order, so that nothing is sorted per request, and one `due` time
--    says whether anything of the account has to expire at all;
--  * a request's body is kept as its text: cheaper to compare than a digest is to make in Lua;
--  * a busy account keeps its open sessions in a sorted set and its tombstones in a list, and its
--    record has only their counts and their first times: no call's cost depends on how many there
--    are. RESERVE then makes one call more (ZADD), TERMINATE two (ZREM, RPUSH). Few of them
--    (OPEN_LISTED, TOMBSTONES_LISTED) are cheaper in the record.
-- Time is the server's own (TIME): callers disagree, and Tcc would be theirs. It costs 0.5 us.
-- Amounts are exact up to 2^53, the range of Lua's numbers. Left out, because the scenario never
-- uses it: a second item, MIN, FROM, TO, FLOOR, OVERRUN clamp, VALIDITY, TCC, CLOSEONDENIAL, KEEPOPEN, gaps below
-- the window of answers, IFVERSION, DATA, counters, identities, any status but active.

-- account a: 1 buckets, 2 open sessions, 3 version, 4 changed at, 5 due, 6 tombstones;
--   bucket n at 8n-2: +1 id, +2 unit, +3 priority, +4 available, +5 held, +6 credited, +7 consumed,
--     +8 overdrawn;
--   behind the buckets each open session: id, version, deadline.
--   Its tail: tombstones, oldest first: forget time, id. A later one never has an earlier time.
-- busy account: the same, but 2 is MANY, and 6 and the tail are empty. Behind the buckets: +1 open
--   sessions, +2 tombstones, +3 first deadline, +4 first forget time.
--   Key '\1{account}': sorted set, the ids of open sessions by their deadlines. An UPDATE leaves a
--   session's place as it is: the deadline there is the true one or an earlier one, and so is +3.
--   Key '\2{account}': list of tombstones, as they are in the tail.
-- session s: 1 open (1, or 0 for a tombstone), 2 items (1), 3 slices, 4 stored answers, 5 version,
--   6 deadline, 7 validity, 8 tcc, 9 last request, and of its item: 10 key, 11 unit, 12 granted, 13 used,
--   14 from hold, 15 direct, 16 released, 17 uncollected (0), 18 last grant;
--   slice n at 16+2n: +1 bucket, +2 amount.
--   Its tail: answers, ascending: request number, length, answer.
-- answer: body, code, session version, count of items, each: key, code, grant, final, uncollected.
-- Field '\2', where it exists: refills, oldest first: forget time, transaction id, body, version,
--   what was available afterwards. Above REFILLS_LISTED of them: 0, count, first forget time; each
--   refill is then a field '\2' .. transaction id: body, version, what was available.
--   Key '\3{account}': list of these refills: forget time, transaction id.
-- No id has a byte below 0x21, so that none is one of these fields and keys. The keys are in the
-- account's slot as long as its id has no braces.

-- The host's functions do not exist yet while a library loads: `bind` makes them locals, which
-- are cheaper than globals, at the first call.
local call, pack, unpack, byte, sub, rep, concat, sort, floor, least, spread
local function bind()
  call, pack, unpack, spread = redis.call, struct.pack, struct.unpack, _G.unpack
  byte, sub, rep = string.byte, string.sub, string.rep
  concat, sort, floor, least = table.concat, table.sort, math.floor, math.min
end

local VALIDITY, TCC, TOMBSTONE_MS = 600000, 1200000, 240000
local SESSIONS_MAX, SESSION_IDS_MAX, ANSWERS_MAX = 1000000, 4000000, 8
local TRANSACTIONS_MAX, TRANSACTION_MS = 4000000, 3600000
-- So many open sessions, tombstones and refills a record lists itself. It lists them again when
-- no more than half of each are left.
local OPEN_LISTED, TOMBSTONES_LISTED, REFILLS_LISTED = 8, 16, 16
local MANY = 255 -- stands for the count of open sessions of a busy account
local NEVER = 2 ^ 53
local OK, DENIED = 1, 2
local CODES = { { ok = 'OK' }, { ok = 'CREDIT_LIMIT_REACHED' } }

local function reject(text) return { err = text } end
local function unknown_account()
  return reject('UNKNOWN_ACCOUNT 20 no account has this id: create it with scur_create')
end
local function full()
  return reject('BUSY 50 a bound of the account is reached: safe to retry later')
end
local function unknown_session() return reject('UNKNOWN_SESSION 30 no open session has this id') end
local function mismatch()
  return reject('REQUEST_MISMATCH 32 the request number was used with another body')
end
local function invalid()
  return reject('INVALID 10 the request has no one ITEM key unit [USED n] [REQUESTED n]')
end

-- Records -------------------------------------------------------------------------------------

local account_formats, session_formats, answer_formats = {}, {}, {}

local function account_format(buckets, sessions)
  local key = buckets * 256 + sessions
  local format = account_formats[key]
  if not format then
    format = '>BBdddH' .. rep('ssi4ddddd', buckets)
    format = format .. (sessions == MANY and 'dddd' or rep('sdd', sessions))
    account_formats[key] = format
  end
  return format
end

local function read_account(raw)
  local buckets, sessions = byte(raw, 1, 2)
  local a = { unpack(account_format(buckets, sessions), raw) }
  local last = 7 + 8 * buckets + (sessions == MANY and 4 or 3 * sessions)
  local tail = sub(raw, a[last])
  a[last] = nil
  return a, tail
end

local function write_account(a, tail)
  local buckets, sessions = a[1], a[2]
  local last = 6 + 8 * buckets + (sessions == MANY and 4 or 3 * sessions)
  return pack(account_format(buckets, sessions), spread(a, 1, last)) .. tail
end

local function session_format(slices)
  local format = session_formats[slices]
  if not format then
    format = '>BBHBddddddsddddddd' .. rep('Bd', slices)
    session_formats[slices] = format
  end
  return format
end

-- A session and its answers; a tombstone is {0} and its answer.
local function read_session(raw)
  local open, _, high, low = byte(raw, 1, 4)
  if open == 0 then return { 0 }, sub(raw, 2) end
  local slices = high * 256 + low
  local s = { unpack(session_format(slices), raw) }
  local last = 19 + 2 * slices
  local tail = sub(raw, s[last])
  s[last] = nil
  return s, tail
end

local function write_session(s, tail)
  return pack(session_format(s[3]), spread(s, 1, 18 + 2 * s[3])) .. tail
end

-- Version and deadline of an open session.
local function read_times(raw)
  local _, _, _, _, version, deadline = unpack('>BBHBdd', raw)
  return version, deadline
end

-- `flat` has the answer's items.
local function write_answer(number, body, code, version, flat)
  local count = #flat / 5
  local format = answer_formats[count]
  if not format then
    format = '>sBdB' .. rep('dBdBd', count)
    answer_formats[count] = format
  end
  local answer = pack(format, body, code, version, count, spread(flat))
  return pack('>dH', number, #answer) .. answer
end

local function reply(code, replayed, version, flat)
  local items, count = {}, 0
  for i = 1, #flat, 5 do
    count = count + 1
    items[count] = { flat[i], CODES[flat[i + 1]], flat[i + 2], flat[i + 3], flat[i + 4] }
  end
  return { CODES[code], replayed, version, items }
end

-- The stored answer with this number in a tail, as a reply; a mismatch; or nothing.
local function stored(tail, number, body)
  local at = 1
  while at <= #tail do
    local known, length, start = unpack('>dH', tail, at)
    if known == number then
      local text, code, version, count, items = unpack('>sBdB', tail, start)
      if text ~= body then return mismatch() end
      local flat = { unpack('>' .. rep('dBdBd', count), tail, items) }
      flat[#flat] = nil
      return reply(code, 1, version, flat)
    end
    at = start + length
  end
  return nil
end

-- Keeps an answer in the window, ascending by request number, the highest eight.
local function remember(s, tail, number, answer)
  if s[4] > 0 and number < s[9] then
    local at = 1
    while at <= #tail do
      local known, length, start = unpack('>dH', tail, at)
      if known > number then break end
      at = start + length
    end
    tail = sub(tail, 1, at - 1) .. answer .. sub(tail, at)
  else
    tail = tail .. answer
    s[9] = number
  end
  if s[4] < ANSWERS_MAX then
    s[4] = s[4] + 1
    return tail
  end
  local _, length, start = unpack('>dH', tail)
  return sub(tail, start + length)
end

-- Time ----------------------------------------------------------------------------------------

-- The time of this request: never before the account's last change.
local function clock(changed_at)
  local time = call('TIME')
  local now = time[1] * 1000 + floor(time[2] / 1000)
  return now < changed_at and changed_at or now
end

-- Everything that the session still holds goes back to the buckets, as they were at `now`.
local function release(a, s)
  for at = 18, 16 + 2 * s[3], 2 do
    local b, amount = 8 * s[at + 1] - 2, s[at + 2]
    a[b + 4], a[b + 5], s[16] = a[b + 4] + amount, a[b + 5] - amount, s[16] + amount
  end
  s[3] = 0
end

-- Busy accounts -------------------------------------------------------------------------------

local function open_key(key) return '\1{' .. key .. '}' end
local function tombstones_key(key) return '\2{' .. key .. '}' end
local function refills_key(key) return '\3{' .. key .. '}' end

-- Open sessions and tombstones of an account.
local function counts(a)
  if a[2] ~= MANY then return a[2], a[6] end
  local at = 6 + 8 * a[1]
  return a[at + 1], a[at + 2]
end

-- Moves what the record lists into keys of their own.
local function make_busy(key, a, tail)
  local first, open, deadline, forget, at = 6 + 8 * a[1], a[2], NEVER, NEVER, 1
  local set, list = open_key(key), tombstones_key(key)
  for session = first, first + 3 * open - 3, 3 do
    call('ZADD', set, a[session + 3], a[session + 1])
    if a[session + 3] < deadline then deadline = a[session + 3] end
    a[session + 1], a[session + 2], a[session + 3] = nil, nil, nil
  end
  while at <= #tail do
    local time, _, following = unpack('>ds', tail, at)
    call('RPUSH', list, sub(tail, at, following - 1))
    if time < forget then forget = time end
    at = following
  end
  a[first + 1], a[first + 2], a[first + 3], a[first + 4] = open, a[6], deadline, forget
  a[2], a[6] = MANY, 0
end

-- Lists everything in the record again. Gives its tail.
local function make_small(key, a)
  local first, set, list = 6 + 8 * a[1], open_key(key), tombstones_key(key)
  local ids, tombstones = call('ZRANGE', set, 0, -1), call('LRANGE', list, 0, -1)
  a[2], a[6] = #ids, #tombstones
  a[first + 1], a[first + 2], a[first + 3], a[first + 4] = nil, nil, nil, nil
  for n, id in ipairs(ids) do
    local at = first + 3 * n - 3
    a[at + 1], a[at + 2], a[at + 3] = id, read_times(call('HGET', key, id))
  end
  call('DEL', set, list)
  return concat(tombstones)
end

-- Takes from a list what has a forget time that has come, and each one's field, which is its id
-- behind `prefix`. Gives how many, and the first forget time that is left.
local function forget(key, list, prefix, now)
  local count, first, size = 0, NEVER, 16
  repeat
    local entries, fields, due = call('LRANGE', list, 0, size - 1), {}, 0
    for n, entry in ipairs(entries) do
      local time, id = unpack('>ds', entry)
      if time > now then
        first = time
        break
      end
      fields[n], due = prefix .. id, n
    end
    if due > 0 then
      call('HDEL', key, spread(fields))
      call('LTRIM', list, due, -1)
      count = count + due
    end
    local more = due == size
    if size < 1024 then size = size * 4 end -- one that was long alone has many
  until not more
  return count, first
end

-- Adds an open session. Gives the account's tail.
local function enlist(key, a, tail, id, deadline)
  local at, count = 6 + 8 * a[1], a[2]
  if deadline < a[5] then a[5] = deadline end
  if count < OPEN_LISTED then
    at = at + 3 * count
    a[at + 1], a[at + 2], a[at + 3], a[2] = id, 1, deadline, count + 1
    return tail
  end
  if count ~= MANY then make_busy(key, a, tail) end
  call('ZADD', open_key(key), deadline, id)
  a[at + 1] = a[at + 1] + 1
  if deadline < a[at + 3] then a[at + 3] = deadline end
  return ''
end

-- Drops an open session, if it is one, and remembers its id. Gives the account's tail.
local function bury(key, a, tail, id, time)
  local first, count = 6 + 8 * a[1], a[2]
  if time < a[5] then a[5] = time end
  if count ~= MANY then
    for at = first, first + 3 * count - 3, 3 do
      if a[at + 1] == id then
        local last = first + 3 * count - 3
        a[at + 1], a[at + 2], a[at + 3] = a[last + 1], a[last + 2], a[last + 3]
        a[last + 1], a[last + 2], a[last + 3] = nil, nil, nil
        a[2] = count - 1
        break
      end
    end
    if a[6] < TOMBSTONES_LISTED then
      a[6] = a[6] + 1
      return tail .. pack('>ds', time, id)
    end
    make_busy(key, a, tail)
  end
  a[first + 1] = a[first + 1] - call('ZREM', open_key(key), id)
  call('RPUSH', tombstones_key(key), pack('>ds', time, id))
  a[first + 2] = a[first + 2] + 1
  if time < a[first + 4] then a[first + 4] = time end
  return ''
end

-- The open sessions whose deadline has come, in order: deadline, id.
local function due_sessions(key, a, now)
  local first, due = 6 + 8 * a[1], {}
  if a[2] ~= MANY then
    for at = first, first + 3 * a[2] - 3, 3 do
      if a[at + 3] <= now then due[#due + 1] = { a[at + 3], a[at + 1] } end
    end
  elseif a[first + 3] <= now then
    local set = open_key(key)
    for _, id in ipairs(call('ZRANGEBYSCORE', set, '-inf', now)) do
      local _, deadline = read_times(call('HGET', key, id))
      if deadline <= now then due[#due + 1] = { deadline, id } else call('ZADD', set, deadline, id) end
    end
  end
  sort(due, function(x, y) return x[1] < y[1] or (x[1] == y[1] and x[2] < y[2]) end)
  return due
end

-- What is due in a busy account once its sessions and buckets are done. Gives its tail.
local function expire_busy(key, a, now)
  local first = 6 + 8 * a[1]
  if a[first + 3] <= now then
    local score = call('ZRANGE', open_key(key), 0, 0, 'WITHSCORES')[2]
    a[first + 3] = score and tonumber(score) or NEVER
  end
  if a[first + 4] <= now then
    local count, time = forget(key, tombstones_key(key), '', now)
    a[first + 2], a[first + 4] = a[first + 2] - count, time
  end
  if a[first + 1] <= OPEN_LISTED / 2 and a[first + 2] <= TOMBSTONES_LISTED / 2 then
    return make_small(key, a)
  end
  return ''
end

-- What is due in a record's own tombstones. Gives its tail.
local function expire_listed(key, a, tail, now)
  local at = 1
  while at <= #tail do
    local time, id, following = unpack('>ds', tail, at)
    if time > now then break end
    call('HDEL', key, id)
    a[6] = a[6] - 1
    at = following
  end
  return sub(tail, at)
end

-- When something is due next, as far as sessions and tombstones are concerned.
local function due_next(a, tail)
  local first = 6 + 8 * a[1]
  if a[2] == MANY then return least(a[first + 3], a[first + 4]) end
  local time = #tail > 0 and unpack('>d', tail) or NEVER
  for at = first, first + 3 * a[2] - 3, 3 do
    if a[at + 3] < time then time = a[at + 3] end
  end
  return time
end

-- Time passes ---------------------------------------------------------------------------------

-- Carries out what is due by `now` (rules, section 3), sessions as of their deadlines: sessions,
-- buckets, tombstones.
local function expire(key, a, tail, now)
  for _, entry in ipairs(due_sessions(key, a, now)) do
    release(a, (read_session(call('HGET', key, entry[2]))))
    tail = bury(key, a, tail, entry[2], entry[1] + TOMBSTONE_MS)
    call('HSET', key, entry[2], '\0')
  end
  if a[2] == MANY then
    tail = expire_busy(key, a, now)
  else
    tail = expire_listed(key, a, tail, now)
  end
  a[5] = due_next(a, tail)
  call('HSET', key, '', write_account(a, tail))
  return tail
end

-- The account and one session as they stand now: account, its tail, session, its tail, now.
local function load(key, id)
  local raw = call('HMGET', key, '', id)
  if not raw[1] then return nil end
  local a, tail = read_account(raw[1])
  local now = clock(a[4])
  local record = raw[2]
  if a[5] <= now then
    tail = expire(key, a, tail, now)
    record = call('HGET', key, id)
  end
  if not record then return a, tail, nil, nil, now end
  local s, answers = read_session(record)
  return a, tail, s, answers, now
end

-- The account alone, as it stands now.
local function load_account(key)
  local raw = call('HGET', key, '')
  if not raw then return nil end
  local a, tail = read_account(raw)
  local now = clock(a[4])
  if a[5] <= now then expire(key, a, tail, now) end
  return a
end

-- Rules ---------------------------------------------------------------------------------------

-- The one item of a request, ITEM key unit [USED n] [REQUESTED n]: key, unit, used, requested.
local function parse(args)
  local key, used, requested = tonumber(args[4]), 0, 0
  if args[3] ~= 'ITEM' or not args[5] then return nil end
  for at = 6, #args, 2 do
    local value = tonumber(args[at + 1])
    if not value or value < 0 then return nil end
    if args[at] == 'USED' then used = value elseif args[at] == 'REQUESTED' then requested = value
    else return nil end
  end
  return key, args[5], used, requested
end

-- Settles `used` (rules, section 7).
local function settle(a, s, used, late)
  local rest = used
  if not late then
    for at = 18, 16 + 2 * s[3], 2 do
      local b, amount = 8 * s[at + 1] - 2, s[at + 2]
      local taken = rest < amount and rest or amount
      a[b + 4], a[b + 5] = a[b + 4] + amount - taken, a[b + 5] - amount
      a[b + 7] = a[b + 7] + taken
      s[16] = s[16] + amount - taken
      rest = rest - taken
    end
    s[3] = 0
  end
  s[13], s[14], s[15] = s[13] + used, s[14] + used - rest, s[15] + rest
  if rest == 0 then return end
  local unit, last = s[11], nil
  for b = 6, 8 * a[1] - 2, 8 do
    if a[b + 2] == unit then
      local room = a[b + 4]
      if room > 0 and rest > 0 then
        if rest < room then room = rest end
        a[b + 4], a[b + 7] = a[b + 4] - room, a[b + 7] + room
        rest = rest - room
      end
      last = b
    end
  end
  if rest > 0 then
    a[last + 4], a[last + 7], a[last + 8] = a[last + 4] - rest, a[last + 7] + rest, a[last + 8] + rest
  end
end

-- Grants (rules, section 8). Gives code, grant and final flag.
local function grant(a, s, requested, number)
  local total, unit, last = 0, s[11], 8 * a[1] - 2
  for b = 6, last, 8 do
    if a[b + 2] == unit then
      local room = a[b + 4]
      if room > 0 then total = total + room end
      if total >= requested then break end
    end
  end
  if total > requested then total = requested end
  if total < 1 then return DENIED, 0, 1 end
  local rest, at, bucket = total, 18 + 2 * s[3], 0
  for b = 6, last, 8 do
    bucket = bucket + 1
    if a[b + 2] == unit then
      local room = a[b + 4]
      if room > 0 then
        if rest < room then room = rest end
        a[b + 4] = a[b + 4] - room
        a[b + 5] = a[b + 5] + room
        s[at + 1], s[at + 2] = bucket, room
        s[3] = s[3] + 1
        at = at + 2
        rest = rest - room
        if rest == 0 then break end
      end
    end
  end
  s[12], s[18] = s[12] + total, number
  return OK, total, total < requested and 1 or 0
end

-- Commands ------------------------------------------------------------------------------------

-- scur_create account [BUCKET id unit amount [PRIORITY n]]...
local function create(keys, args)
  local key, buckets, at = keys[1], {}, 1
  if call('EXISTS', key) == 1 then
    return reject('ACCOUNT_EXISTS 21 an account with this id exists')
  end
  local now = clock(0)
  while args[at] do
    local amount = tonumber(args[at + 3])
    if args[at] ~= 'BUCKET' or not amount then return reject('INVALID 10 no bucket') end
    local bucket = { args[at + 1], args[at + 2], 0, amount, 0, amount, 0, 0 }
    at = at + 4
    if args[at] == 'PRIORITY' then
      bucket[3] = tonumber(args[at + 1])
      at = at + 2
    end
    buckets[#buckets + 1] = bucket
  end
  sort(buckets, function(x, y)
    if x[3] ~= y[3] then return x[3] < y[3] end
    return x[1] < y[1]
  end)
  local a = { #buckets, 0, 1, now, NEVER, 0 }
  for _, bucket in ipairs(buckets) do
    for field = 1, 8 do a[#a + 1] = bucket[field] end
  end
  call('HSET', key, '', write_account(a, ''))
  return { CODES[OK], 1 }
end

-- scur_reserve account session request ITEM key unit REQUESTED n
local function reserve(keys, args)
  local key, id, number = keys[1], args[1], tonumber(args[2])
  local item, unit, used, requested = parse(args)
  if not number or not item then return invalid() end
  args[1] = 'R'
  local body = concat(args, ' ')
  local a, tail, s, answers, now = load(key, id)
  if not a then return unknown_account() end
  if s then
    return stored(answers, number, body)
      or reject('SESSION_EXISTS 31 the session id is open, or was used')
  end
  local open, remembered = counts(a)
  if open >= SESSIONS_MAX or open + remembered >= SESSION_IDS_MAX then
    return full()
  end
  local deadline = now + TCC
  s = { 1, 1, 0, 1, 1, deadline, VALIDITY, TCC, number, item, unit, 0, 0, 0, 0, 0, 0, 0 }
  local code, granted, final = grant(a, s, requested, number)
  local flat = { item, code, granted, final, 0 }
  a[3], a[4] = a[3] + 1, now
  if code ~= OK then
    tail = bury(key, a, tail, id, now + TOMBSTONE_MS)
    call('HSET', key, '', write_account(a, tail), id, '\0' .. write_answer(number, body, DENIED, 0, flat))
    return reply(DENIED, 0, 0, flat)
  end
  tail = enlist(key, a, tail, id, deadline)
  call('HSET', key, '', write_account(a, tail), id, write_session(s, write_answer(number, body, OK, 1, flat)))
  return reply(OK, 0, 1, flat)
end

-- scur_update account session request ITEM key unit [USED n] [REQUESTED n]
local function update(keys, args)
  local key, id, number = keys[1], args[1], tonumber(args[2])
  local item, unit, used, requested = parse(args)
  if not number or not item then return invalid() end
  args[1] = 'U'
  local body = concat(args, ' ')
  local a, tail, s, answers, now = load(key, id)
  if not a then return unknown_account() end
  if not s then return unknown_session() end
  if s[1] == 0 then return stored(answers, number, body) or unknown_session() end
  if number <= s[9] then -- a higher number than any stored cannot be a duplicate
    local duplicate = stored(answers, number, body)
    if duplicate then return duplicate end
    if s[4] >= ANSWERS_MAX and number < unpack('>d', answers) then
      return reject('OUT_OF_WINDOW 33 the request number is below the stored answers')
    end
  end
  if s[10] ~= item then return invalid() end
  settle(a, s, used, number < s[18])
  local code, granted, final = OK, 0, 0
  if requested > 0 and number >= s[18] then code, granted, final = grant(a, s, requested, number) end
  local flat = { item, code, granted, final, 0 }
  local version, deadline = s[5] + 1, now + s[8]
  s[5], s[6] = version, deadline
  answers = remember(s, answers, number, write_answer(number, body, code, version, flat))
  a[3], a[4] = a[3] + 1, now
  if a[2] ~= MANY then
    local first = 6 + 8 * a[1]
    for at = first, first + 3 * a[2] - 3, 3 do
      if a[at + 1] == id then
        a[at + 2], a[at + 3] = version, deadline
        break
      end
    end
  end
  call('HSET', key, '', write_account(a, tail), id, write_session(s, answers))
  return reply(code, 0, version, flat)
end

-- scur_terminate account session request ITEM key unit USED n
local function terminate(keys, args)
  local key, id, number = keys[1], args[1], tonumber(args[2])
  local item, unit, used, requested = parse(args)
  if not number or not item then return invalid() end
  args[1] = 'T'
  local body = concat(args, ' ')
  local a, tail, s, answers, now = load(key, id)
  if not a then return unknown_account() end
  if not s then return unknown_session() end
  if s[1] == 0 then return stored(answers, number, body) or unknown_session() end
  if number <= s[9] then
    local duplicate = stored(answers, number, body)
    if duplicate then return duplicate end
    if s[4] >= ANSWERS_MAX and number < unpack('>d', answers) then
      return reject('OUT_OF_WINDOW 33 the request number is below the stored answers')
    end
  end
  if s[10] ~= item then return invalid() end
  settle(a, s, used, false)
  local flat = { item, OK, 0, 0, 0 }
  release(a, s)
  tail = bury(key, a, tail, id, now + TOMBSTONE_MS)
  a[3], a[4] = a[3] + 1, now
  call('HSET', key, '', write_account(a, tail), id, '\0' .. write_answer(number, body, OK, 0, flat))
  return reply(OK, 0, 0, flat)
end

-- Refills -------------------------------------------------------------------------------------

-- The refill with this id among those that field '\2' lists: body, version, available; and where
-- in the field the first is that is not forgotten, and how many are not.
local function listed_refill(known, txn, now)
  local at, from, count, body, version, available = 1, 1, 0, nil, nil, nil
  while at <= #known do
    local time, id, text, v, left, following = unpack('>dssdd', known, at)
    if time <= now then
      from = following
    else
      count = count + 1
      if id == txn then body, version, available = text, v, left end
    end
    at = following
  end
  return body, version, available, from, count
end

-- Gives each listed refill a field of its own, and field '\2' their count.
local function make_refills_busy(key, known)
  local at, count, first, list = 1, 0, NEVER, refills_key(key)
  while at <= #known do
    local time, id, body, version, available, following = unpack('>dssdd', known, at)
    call('HSET', key, '\2' .. id, pack('>sdd', body, version, available))
    call('RPUSH', list, pack('>ds', time, id))
    if time < first then first = time end
    count, at = count + 1, following
  end
  return count, first
end

-- Lists the refills in field '\2' again.
local function make_refills_small(key)
  local list, known = refills_key(key), {}
  for n, entry in ipairs(call('LRANGE', list, 0, -1)) do
    local time, id = unpack('>ds', entry)
    known[n] = pack('>ds', time, id) .. call('HGET', key, '\2' .. id)
    call('HDEL', key, '\2' .. id)
  end
  call('DEL', list)
  return concat(known)
end

-- Field '\2' as it stands now: itself, or count and first forget time of a busy account's refills.
local function load_refills(key, known, now)
  if byte(known) ~= 0 then return known, nil, nil end
  local _, count, first = unpack('>Bdd', known)
  if first <= now then
    local forgotten
    forgotten, first = forget(key, refills_key(key), '\2', now)
    count = count - forgotten
    known = pack('>Bdd', 0, count, first)
    if count <= REFILLS_LISTED / 2 then known, count = make_refills_small(key), nil end
    call('HSET', key, '\2', known)
  end
  return known, count, first
end

-- scur_topup account txn bucket amount
local function topup(keys, args)
  local key, txn, id, amount = keys[1], args[1], args[2], tonumber(args[3])
  if not amount or amount < 1 or args[4] then
    return reject('INVALID 10 the arguments are not txn bucket amount')
  end
  local raw = call('HMGET', key, '', '\2')
  if not raw[1] then return unknown_account() end
  local a, tail = read_account(raw[1])
  local now = clock(a[4])
  if a[5] <= now then tail = expire(key, a, tail, now) end
  local known, count, first = load_refills(key, raw[2] or '', now)
  local is_busy, text, version, available, from = count ~= nil, nil, nil, nil, nil
  if is_busy then
    local refill = call('HGET', key, '\2' .. txn)
    if refill then text, version, available = unpack('>sdd', refill) end
  else
    text, version, available, from, count = listed_refill(known, txn, now)
  end
  local body = id .. ' ' .. args[3]
  if text then
    if text ~= body then return mismatch() end
    return { CODES[OK], 1, version, available }
  end
  for b = 6, 8 * a[1] - 2, 8 do
    if a[b + 1] == id then
      if count >= TRANSACTIONS_MAX then return full() end
      available = a[b + 4] + amount
      a[b + 4], a[b + 6] = available, a[b + 6] + amount
      a[3], a[4] = a[3] + 1, now
      local time, refill = now + TRANSACTION_MS, pack('>sdd', body, a[3], available)
      if count < REFILLS_LISTED and not is_busy then
        known = sub(known, from) .. pack('>ds', time, txn) .. refill
        call('HSET', key, '', write_account(a, tail), '\2', known)
      else
        if not is_busy then count, first = make_refills_busy(key, sub(known, from)) end
        if time < first then first = time end
        call('RPUSH', refills_key(key), pack('>ds', time, txn))
        call('HSET', key, '', write_account(a, tail), '\2' .. txn, refill, '\2', pack('>Bdd', 0, count + 1, first))
      end
      return { CODES[OK], 0, a[3], available }
    end
  end
  return reject('UNKNOWN_BUCKET 40 the account has no bucket with this id')
end

-- Reads ---------------------------------------------------------------------------------------

-- The open sessions of an account: id, version, deadline.
local function open_sessions(key, a)
  local sessions, first = {}, 6 + 8 * a[1]
  if a[2] ~= MANY then
    for n = 1, a[2] do
      local at = first + 3 * n - 3
      sessions[n] = { a[at + 1], a[at + 2], a[at + 3] }
    end
    return sessions
  end
  for n, id in ipairs(call('ZRANGE', open_key(key), 0, -1)) do
    sessions[n] = { id, read_times(call('HGET', key, id)) }
  end
  return sessions
end

-- The map of scur_get, flat, behind `at` entries that are already in `out`.
local function describe(out, at, key, a)
  local buckets, count = {}, 0
  for b = 6, 8 * a[1] - 2, 8 do
    count = count + 1
    buckets[count] = { a[b + 1], a[b + 2], a[b + 4], a[b + 5], 0, a[b + 3], 0, false }
  end
  out[at + 1], out[at + 2] = 'status', 'active'
  out[at + 3], out[at + 4] = 'version', a[3]
  out[at + 5], out[at + 6] = 'identities', {}
  out[at + 7], out[at + 8] = 'buckets', buckets
  out[at + 9], out[at + 10] = 'counters', {}
  out[at + 11], out[at + 12] = 'sessions', open_sessions(key, a)
  return out
end

-- scur_get account
local function get(keys)
  local a = load_account(keys[1])
  if not a then return unknown_account() end
  return describe({}, 0, keys[1], a)
end

-- scur_session account session
local function session(keys, args)
  local a, _, s = load(keys[1], args[1])
  if not a then return unknown_account() end
  if not s or s[1] == 0 then return unknown_session() end
  local outstanding = 0
  for at = 18, 16 + 2 * s[3], 2 do outstanding = outstanding + s[at + 2] end
  local items = { { s[10], s[11], s[12], outstanding, s[13], s[14], s[15], s[16], 0 } }
  local detail = { 'id', args[1], 'version', s[5], 'deadline', s[6], 'validity', s[7], 'tcc', s[8],
    'overrun', 'overdraw', 'last_request', s[9], 'data', '', 'items', items }
  return describe({ 'session', detail }, 2, keys[1], a)
end

-- scur_audit account
local function audit(keys)
  local a = load_account(keys[1])
  if not a then return unknown_account() end
  local ok, buckets = 1, {}
  for b = 6, 8 * a[1] - 2, 8 do
    if a[b + 4] + a[b + 5] ~= a[b + 6] - a[b + 7] or a[b + 5] < 0 then ok = 0 end
    buckets[#buckets + 1] =
      { a[b + 1], a[b + 2], a[b + 4], a[b + 5], a[b + 6], 0, a[b + 7], 0, 0, a[b + 8] }
  end
  return { 'ok', ok, 'version', a[3], 'buckets', buckets, 'uncollected', {} }
end

local function register(name, run)
  redis.register_function(name, function(keys, args)
    if not call then bind() end
    return run(keys, args)
  end)
end

register('scur_create', create)
register('scur_reserve', reserve)
register('scur_update', update)
register('scur_terminate', terminate)
register('scur_topup', topup)
register('scur_get', get)
register('scur_session', session)
register('scur_audit', audit)
