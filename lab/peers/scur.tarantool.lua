-- The opponent: the charging rules of docs/ledger.md as stored procedures of Tarantool, as far as
-- the scenarios moaf-scur, charglt, charging-live and charging-hot and the lab's probe need them, with the same replies as SCUR.*. The
-- rules are those of scur.lua beside it; what differs is what Tarantool is good at:
--  * a tuple per account and one per session, open or the tombstone that it left. A call reads
--    both by primary key and, when it writes, replaces both in one transaction;
--  * a record is a field of its tuple, packed by msgpack: tuple:totable() takes 7 us for what
--    msgpack.decode reads in 1 us (26 fields), and it halves the cost of a call;
--  * buckets are kept in burn order, and one `due` time says whether anything has to expire;
--  * a busy account has its open sessions and tombstones in a space with an index on their times,
--    and its record has only their counts: no call's cost depends on how many there are. Few of them
--    (OPEN_LISTED, TOMBSTONES_LISTED) are cheaper in the record;
--  * memtx does not yield before a commit, so a call needs no lock.
-- Plain keys are a space of their own, which clients use without any Lua (REPLACE, SELECT, DELETE);
-- so are records with an index on their value.
-- `settings`, a global: host, port, wal_mode, and of a replica `replication`, its primary. Amounts and
-- times are exact up to 10^14, where Tarantool begins to make boxed numbers of integers. What the
-- library leaves out is left out here.

-- account: id, version, changed at, due, buckets, open sessions, tombstones, count of remembered refills
--   buckets, 8 each: id, unit, priority, available, held, credited, consumed, overdrawn
--   open sessions, 3 each: id, version, deadline; tombstones, oldest first, 2 each: forget time, id
-- busy account: the same, with counts instead of the open sessions and the tombstones. Those are in
--   the space `times`: account, id, open (1 or 0), deadline or forget time. An UPDATE leaves a
--   session's deadline there as it is: it is the true one or an earlier one.
local VERSION, CHANGED_AT, DUE, BUCKETS, SESSIONS, TOMBSTONES, REFILLS = 2, 3, 4, 5, 6, 7, 8
-- session: account, id, open (1, or 0 for a tombstone), version, deadline, validity, tcc, last
--   request, item, slices, answers
--   item: key, unit, granted, used, from hold, direct, released, uncollected (0), last grant
--   slices, 2 each: bucket, by its offset, and amount
--   answers, ascending, 5 each: request number, body, code, session version, items, which are flat:
--     key, code, grant, final, uncollected
local OPEN, S_VERSION, DEADLINE, TCC_MS, LAST, ITEM, SLICES, ANSWERS = 3, 4, 5, 7, 8, 9, 10, 11

local VALIDITY, TCC, TOMBSTONE_MS = 600000, 1200000, 240000
local SESSIONS_MAX, SESSION_IDS_MAX, ANSWERS_MAX = 1000000, 4000000, 8
local TRANSACTIONS_MAX, TRANSACTION_MS = 4000000, 3600000
-- So many open sessions and tombstones a record lists itself. It lists them again when no more than
-- half of each are left.
local OPEN_LISTED, TOMBSTONES_LISTED = 8, 32
local NEVER = 10 ^ 14 - 1
local OK, DENIED = 'OK', 'CREDIT_LIMIT_REACHED'

box.cfg {
  wal_mode = settings.wal_mode,
  -- In its favour: no run pays for a checkpoint, and the network never waits for a free slot.
  checkpoint_interval = 0,
  wal_max_size = 2 ^ 40,
  net_msg_max = 20000,
  readahead = 1048576,
  memtx_memory = 8 * 2 ^ 30,
  log_level = 2,
  replication = settings.replication,
  read_only = settings.replication ~= nil,
}
-- A replica has them from its primary.
if not settings.replication then
  local function space(name, id, ...)
    local made = box.schema.space.create(name, { id = id })
    for number, parts in ipairs({ ... }) do
      local named = number == 1 and 'primary' or 'second'
      made:create_index(named, { parts = parts, unique = number == 1 })
    end
  end
  local first, both, second = { { 1, 'string' } }, { { 1, 'string' }, { 2, 'string' } }, { { 2, 'string' } }
  space('kv', 512, first)
  space('accounts', 513, first)
  space('sessions', 514, both)
  space('records', 515, first, second)
  local time = { { 1, 'string' }, { 3, 'number' } }
  space('refills', 516, both, time)
  space('times', 517, both, { { 1, 'string' }, { 3, 'number' }, { 4, 'number' } })
  box.schema.user.grant('guest', 'read,write,execute', 'universe')
  box.schema.user.grant('guest', 'replication')
end
local keys, accounts, sessions = box.space.kv, box.space.accounts, box.space.sessions
local refills, times = box.space.refills, box.space.times
local refills_by_time, by_time = refills.index[1], times.index[1]

local time, floor, least = require('fiber').time, math.floor, math.min
local concat, remove, sort = table.concat, table.remove, table.sort
local begin, commit, in_transaction = box.begin, box.commit, box.is_in_txn
local encode, decode = require('msgpack').encode, require('msgpack').decode

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

-- The first write of a call opens the transaction, its end commits it.
local function write()
  if not in_transaction() then begin() end
end

local function keep_account(a)
  write()
  accounts:replace({ a[1], encode(a) })
end

local function keep_session(s)
  write()
  sessions:replace({ s[1], s[2], encode(s) })
end

local function read_account(key)
  local tuple = accounts:get(key)
  return tuple and decode(tuple[2])
end

local function read_session(key, id)
  local tuple = sessions:get({ key, id })
  return tuple and decode(tuple[3])
end

local function reply(code, replayed, version, flat)
  local items, count = {}, 0
  for i = 1, #flat, 5 do
    count = count + 1
    items[count] = { flat[i], flat[i + 1], flat[i + 2], flat[i + 3], flat[i + 4] }
  end
  return { code, replayed, version, items }
end

-- The stored answer with this number, as a reply; a mismatch; or nothing.
local function stored(answers, number, body)
  for at = 1, #answers, 5 do
    if answers[at] == number then
      if answers[at + 1] ~= body then return mismatch() end
      return reply(answers[at + 2], 1, answers[at + 3], answers[at + 4])
    end
  end
  return nil
end

-- Keeps an answer in the window, ascending by request number, the highest eight.
local function remember(s, number, body, code, version, flat)
  local answers, at = s[ANSWERS], #s[ANSWERS] + 1
  while at > 1 and answers[at - 5] > number do
    for field = at, at + 4 do answers[field] = answers[field - 5] end
    at = at - 5
  end
  answers[at], answers[at + 1], answers[at + 2] = number, body, code
  answers[at + 3], answers[at + 4] = version, flat
  if number > s[LAST] then s[LAST] = number end
  if #answers > 5 * ANSWERS_MAX then
    for _ = 1, 5 do remove(answers, 1) end
  end
end

-- Time ----------------------------------------------------------------------------------------

-- The time of this request: never before the account's last change.
local function clock(changed_at)
  local now = floor(time() * 1000)
  return now < changed_at and changed_at or now
end

-- Everything that the session still holds goes back to the buckets, as they were at `now`.
local function release(a, s)
  local buckets, item, slices = a[BUCKETS], s[ITEM], s[SLICES]
  for at = 1, #slices, 2 do
    local b, amount = slices[at], slices[at + 1]
    buckets[b + 4], buckets[b + 5] = buckets[b + 4] + amount, buckets[b + 5] - amount
    item[7] = item[7] + amount
  end
  s[SLICES] = {}
end

-- Busy accounts -------------------------------------------------------------------------------

local function is_busy(a) return type(a[SESSIONS]) == 'number' end

-- Open sessions and tombstones of an account.
local function counts(a)
  if is_busy(a) then return a[SESSIONS], a[TOMBSTONES] end
  return #a[SESSIONS] / 3, #a[TOMBSTONES] / 2
end

-- Moves what the record lists into the space of times.
local function make_busy(a)
  local key, open, tombstones = a[1], a[SESSIONS], a[TOMBSTONES]
  write()
  for at = 1, #open, 3 do times:replace({ key, open[at], 1, open[at + 2] }) end
  for at = 1, #tombstones, 2 do times:replace({ key, tombstones[at + 1], 0, tombstones[at] }) end
  a[SESSIONS], a[TOMBSTONES] = #open / 3, #tombstones / 2
end

-- Lists everything in the record again.
local function make_small(a)
  local key, open, tombstones = a[1], {}, {}
  write()
  for _, tuple in ipairs(by_time:select({ key, 1 })) do
    local s, at = read_session(key, tuple[2]), #open
    open[at + 1], open[at + 2], open[at + 3] = s[2], s[S_VERSION], s[DEADLINE]
    times:delete({ key, tuple[2] })
  end
  for _, tuple in ipairs(by_time:select({ key, 0 })) do
    local at = #tombstones
    tombstones[at + 1], tombstones[at + 2] = tuple[4], tuple[2]
    times:delete({ key, tuple[2] })
  end
  a[SESSIONS], a[TOMBSTONES] = open, tombstones
end

-- The tuples below a key of an index whose time, in this field, has come, in order.
local function due(index, key, field, now)
  local found = {}
  for _, tuple in index:pairs(key) do
    if tuple[field] > now then break end
    found[#found + 1] = tuple
  end
  return found
end

-- Adds an open session.
local function enlist(a, id, deadline)
  local open = a[SESSIONS]
  if deadline < a[DUE] then a[DUE] = deadline end
  if not is_busy(a) then
    local at = #open
    if at < 3 * OPEN_LISTED then
      open[at + 1], open[at + 2], open[at + 3] = id, 1, deadline
      return
    end
    make_busy(a)
  end
  write()
  times:replace({ a[1], id, 1, deadline })
  a[SESSIONS] = a[SESSIONS] + 1
end

-- Drops a session from the open ones, if it is one (1, else 0), and remembers its id.
local function bury(a, id, was_open, forget)
  if forget < a[DUE] then a[DUE] = forget end
  if not is_busy(a) then
    local open, tombstones = a[SESSIONS], a[TOMBSTONES]
    for at = 1, was_open * #open, 3 do
      if open[at] == id then
        local last = #open - 2
        open[at], open[at + 1], open[at + 2] = open[last], open[last + 1], open[last + 2]
        open[last], open[last + 1], open[last + 2] = nil, nil, nil
        break
      end
    end
    local at = #tombstones
    tombstones[at + 1], tombstones[at + 2] = forget, id
    if at >= 2 * TOMBSTONES_LISTED then make_busy(a) end
    return
  end
  write()
  times:replace({ a[1], id, 0, forget })
  a[SESSIONS], a[TOMBSTONES] = a[SESSIONS] - was_open, a[TOMBSTONES] + 1
end

local function tombstone(key, id, answers) return { key, id, 0, 0, 0, 0, 0, 0, {}, {}, answers } end

-- The open sessions whose deadline has come, in order.
local function due_sessions(a, now)
  local key, open, found = a[1], a[SESSIONS], {}
  if is_busy(a) then
    for _, tuple in ipairs(due(by_time, { key, 1 }, 4, now)) do
      local s = read_session(key, tuple[2])
      if s[DEADLINE] <= now then
        found[#found + 1] = s
      else
        write()
        times:replace({ key, tuple[2], 1, s[DEADLINE] })
      end
    end
  else
    for at = 1, #open, 3 do
      if open[at + 2] <= now then found[#found + 1] = read_session(key, open[at]) end
    end
  end
  sort(found, function(x, y)
    return x[DEADLINE] < y[DEADLINE] or (x[DEADLINE] == y[DEADLINE] and x[2] < y[2])
  end)
  return found
end

-- Forgets the tombstones whose time has come.
local function forget(a, now)
  local key, tombstones = a[1], a[TOMBSTONES]
  write()
  if is_busy(a) then
    for _, tuple in ipairs(due(by_time, { key, 0 }, 4, now)) do
      times:delete({ key, tuple[2] })
      sessions:delete({ key, tuple[2] })
      a[TOMBSTONES] = a[TOMBSTONES] - 1
    end
    if a[SESSIONS] <= OPEN_LISTED / 2 and a[TOMBSTONES] <= TOMBSTONES_LISTED / 2 then make_small(a) end
    return
  end
  local kept = {}
  for at = 1, #tombstones, 2 do
    if tombstones[at] <= now then
      sessions:delete({ key, tombstones[at + 1] })
    else
      kept[#kept + 1] = tombstones[at]
      kept[#kept + 1] = tombstones[at + 1]
    end
  end
  a[TOMBSTONES] = kept
end

-- When something is due next, as far as sessions and tombstones are concerned.
local function due_next(a)
  local next_due, open = NEVER, a[SESSIONS]
  if is_busy(a) then
    for is_open = 0, 1 do
      local tuple = by_time:select({ a[1], is_open }, { limit = 1 })[1]
      if tuple then next_due = least(next_due, tuple[4]) end
    end
    return next_due
  end
  if a[TOMBSTONES][1] then next_due = a[TOMBSTONES][1] end -- the oldest
  for at = 3, #open, 3 do next_due = least(next_due, open[at]) end
  return next_due
end

-- Time passes ---------------------------------------------------------------------------------

-- Carries out what is due by `now` (rules, section 3), sessions as of their deadlines: sessions,
-- buckets, tombstones.
local function expire(a, now)
  for _, s in ipairs(due_sessions(a, now)) do
    release(a, s)
    bury(a, s[2], 1, s[DEADLINE] + TOMBSTONE_MS)
    keep_session(tombstone(a[1], s[2], {}))
  end
  forget(a, now)
  a[DUE] = due_next(a)
  keep_account(a)
end

-- The account as it stands now, and the time.
local function load_account(key)
  local a = read_account(key)
  if not a then return nil end
  local now = clock(a[CHANGED_AT])
  if a[DUE] <= now then expire(a, now) end
  return a, now
end

-- The account and one session as they stand now: account, session, now.
local function load(key, id)
  local a, now = load_account(key)
  if not a then return nil end
  return a, read_session(key, id), now
end

-- Rules ---------------------------------------------------------------------------------------

-- The one item of a request, ITEM key unit [USED n] [REQUESTED n]: the body as text, which is cheaper to
-- compare than a digest is to make, key, unit, used, requested.
local function parse(letter, number, ...)
  local args = { letter, number, ... }
  local key, used, requested = tonumber(args[4]), 0, 0
  if args[3] ~= 'ITEM' or not args[5] then return nil end
  for at = 6, #args, 2 do
    local value = tonumber(args[at + 1])
    if not value or value < 0 then return nil end
    if args[at] == 'USED' then used = value elseif args[at] == 'REQUESTED' then requested = value
    else return nil end
  end
  return concat(args, ' '), key, args[5], used, requested
end

-- Settles `used` (rules, section 7).
local function settle(a, s, used, late)
  local buckets, item, rest = a[BUCKETS], s[ITEM], used
  if not late then
    local slices = s[SLICES]
    for at = 1, #slices, 2 do
      local b, amount = slices[at], slices[at + 1]
      local taken = rest < amount and rest or amount
      buckets[b + 4], buckets[b + 5] = buckets[b + 4] + amount - taken, buckets[b + 5] - amount
      buckets[b + 7] = buckets[b + 7] + taken
      item[7] = item[7] + amount - taken
      rest = rest - taken
    end
    s[SLICES] = {}
  end
  item[4], item[5], item[6] = item[4] + used, item[5] + used - rest, item[6] + rest
  if rest == 0 then return end
  local unit, last = item[2], nil
  for b = 0, #buckets - 8, 8 do
    if buckets[b + 2] == unit then
      local room = buckets[b + 4]
      if room > 0 and rest > 0 then
        if rest < room then room = rest end
        buckets[b + 4], buckets[b + 7] = buckets[b + 4] - room, buckets[b + 7] + room
        rest = rest - room
      end
      last = b
    end
  end
  if rest > 0 then
    buckets[last + 4], buckets[last + 7] = buckets[last + 4] - rest, buckets[last + 7] + rest
    buckets[last + 8] = buckets[last + 8] + rest
  end
end

-- Grants (rules, section 8). Gives code, grant and final flag.
local function grant(a, s, requested, number)
  local buckets, item, slices, total = a[BUCKETS], s[ITEM], s[SLICES], 0
  local unit, last = item[2], #buckets - 8
  for b = 0, last, 8 do
    if buckets[b + 2] == unit then
      local room = buckets[b + 4]
      if room > 0 then total = total + room end
      if total >= requested then break end
    end
  end
  if total > requested then total = requested end
  if total < 1 then return DENIED, 0, 1 end
  local rest, at = total, #slices
  for b = 0, last, 8 do
    if buckets[b + 2] == unit then
      local room = buckets[b + 4]
      if room > 0 then
        if rest < room then room = rest end
        buckets[b + 4] = buckets[b + 4] - room
        buckets[b + 5] = buckets[b + 5] + room
        slices[at + 1], slices[at + 2] = b, room
        at = at + 2
        rest = rest - room
        if rest == 0 then break end
      end
    end
  end
  item[3], item[9] = item[3] + total, number
  return OK, total, total < requested and 1 or 0
end

-- Procedures ----------------------------------------------------------------------------------

local procedures = {}

-- account [BUCKET id unit amount [PRIORITY n]]...
function procedures.create(key, ...)
  local args, rows, at = { ... }, {}, 1
  if accounts:get(key) then return reject('ACCOUNT_EXISTS 21 an account with this id exists') end
  local now = clock(0)
  while args[at] do
    local amount = tonumber(args[at + 3])
    if args[at] ~= 'BUCKET' or not amount then return reject('INVALID 10 no bucket') end
    local row = { args[at + 1], args[at + 2], 0, amount, 0, amount, 0, 0 }
    at = at + 4
    if args[at] == 'PRIORITY' then
      row[3] = tonumber(args[at + 1])
      at = at + 2
    end
    rows[#rows + 1] = row
  end
  sort(rows, function(x, y)
    if x[3] ~= y[3] then return x[3] < y[3] end
    return x[1] < y[1]
  end)
  local buckets = {}
  for _, row in ipairs(rows) do
    for field = 1, 8 do buckets[#buckets + 1] = row[field] end
  end
  keep_account({ key, 1, now, NEVER, buckets, {}, {}, 0 })
  return { OK, 1 }
end

-- account session request ITEM key unit REQUESTED n
function procedures.reserve(key, id, number, ...)
  local body, item, unit, used, requested = parse('R', number, ...)
  number = tonumber(number)
  if not number or not item then return invalid() end
  local a, s, now = load(key, id)
  if not a then return unknown_account() end
  if s then
    return stored(s[ANSWERS], number, body)
      or reject('SESSION_EXISTS 31 the session id is open, or was used')
  end
  local open, remembered = counts(a)
  if open >= SESSIONS_MAX or open + remembered >= SESSION_IDS_MAX then return full() end
  local deadline = now + TCC
  s = { key, id, 1, 1, deadline, VALIDITY, TCC, number, { item, unit, 0, 0, 0, 0, 0, 0, 0 }, {}, {} }
  local code, granted, final = grant(a, s, requested, number)
  local flat = { item, code, granted, final, 0 }
  a[VERSION], a[CHANGED_AT] = a[VERSION] + 1, now
  if code ~= OK then
    bury(a, id, 0, now + TOMBSTONE_MS)
    keep_account(a)
    keep_session(tombstone(key, id, { number, body, DENIED, 0, flat }))
    return reply(DENIED, 0, 0, flat)
  end
  enlist(a, id, deadline)
  s[ANSWERS] = { number, body, OK, 1, flat }
  keep_account(a)
  keep_session(s)
  return reply(OK, 0, 1, flat)
end

-- What stands in the way of an update or an end with this number, or nothing.
local function refusal(a, s, number, body)
  if not a then return unknown_account() end
  if not s then return unknown_session() end
  if s[OPEN] == 0 then return stored(s[ANSWERS], number, body) or unknown_session() end
  if number > s[LAST] then return nil end -- cannot be a duplicate
  local duplicate = stored(s[ANSWERS], number, body)
  if duplicate then return duplicate end
  if #s[ANSWERS] >= 5 * ANSWERS_MAX and number < s[ANSWERS][1] then
    return reject('OUT_OF_WINDOW 33 the request number is below the stored answers')
  end
  return nil
end

-- account session request ITEM key unit [USED n] [REQUESTED n]
function procedures.update(key, id, number, ...)
  local body, item, unit, used, requested = parse('U', number, ...)
  number = tonumber(number)
  if not number or not item then return invalid() end
  local a, s, now = load(key, id)
  local refused = refusal(a, s, number, body)
  if refused then return refused end
  local last_grant = s[ITEM][9]
  if s[ITEM][1] ~= item then return invalid() end
  settle(a, s, used, number < last_grant)
  local code, granted, final = OK, 0, 0
  if requested > 0 and number >= last_grant then code, granted, final = grant(a, s, requested, number) end
  local flat = { item, code, granted, final, 0 }
  local version, deadline = s[S_VERSION] + 1, now + s[TCC_MS]
  s[S_VERSION], s[DEADLINE] = version, deadline
  remember(s, number, body, code, version, flat)
  a[VERSION], a[CHANGED_AT] = a[VERSION] + 1, now
  local open = a[SESSIONS]
  for at = 1, is_busy(a) and 0 or #open, 3 do
    if open[at] == id then
      open[at + 1], open[at + 2] = version, deadline
      break
    end
  end
  keep_account(a)
  keep_session(s)
  return reply(code, 0, version, flat)
end

-- account session request ITEM key unit USED n
function procedures.terminate(key, id, number, ...)
  local body, item, unit, used, requested = parse('T', number, ...)
  number = tonumber(number)
  if not number or not item then return invalid() end
  local a, s, now = load(key, id)
  local refused = refusal(a, s, number, body)
  if refused then return refused end
  if s[ITEM][1] ~= item then return invalid() end
  settle(a, s, used, false)
  local flat = { item, OK, 0, 0, 0 }
  release(a, s)
  bury(a, id, 1, now + TOMBSTONE_MS)
  a[VERSION], a[CHANGED_AT] = a[VERSION] + 1, now
  keep_account(a)
  keep_session(tombstone(key, id, { number, body, OK, 0, flat }))
  return reply(OK, 0, 0, flat)
end

-- account txn bucket amount. A refill that is remembered is a tuple of its own: account, id, forget
-- time, body, version, what was available afterwards.
function procedures.topup(key, txn, id, amount)
  local body = id .. ' ' .. tostring(amount)
  amount = tonumber(amount)
  if not amount or amount < 1 then
    return reject('INVALID 10 the arguments are not txn bucket amount')
  end
  local a, now = load_account(key)
  if not a then return unknown_account() end
  local known = refills:get({ key, txn })
  if known and known[3] > now then
    if known[4] ~= body then return mismatch() end
    return { OK, 1, known[5], known[6] }
  end
  if a[REFILLS] > 0 then
    local forgotten = due(refills_by_time, { key }, 3, now)
    if #forgotten > 0 then
      write()
      for _, old in ipairs(forgotten) do refills:delete({ key, old[2] }) end
      a[REFILLS] = a[REFILLS] - #forgotten
      keep_account(a)
    end
  end
  local buckets = a[BUCKETS]
  for b = 0, #buckets - 8, 8 do
    if buckets[b + 1] == id then
      if a[REFILLS] >= TRANSACTIONS_MAX then return full() end
      local available = buckets[b + 4] + amount
      buckets[b + 4], buckets[b + 6] = available, buckets[b + 6] + amount
      a[VERSION], a[CHANGED_AT], a[REFILLS] = a[VERSION] + 1, now, a[REFILLS] + 1
      keep_account(a)
      refills:replace({ key, txn, now + TRANSACTION_MS, body, a[VERSION], available })
      return { OK, 0, a[VERSION], available }
    end
  end
  return reject('UNKNOWN_BUCKET 40 the account has no bucket with this id')
end

-- The flat map of `get`, behind `at` entries that are already in `out`.
local function describe(out, at, a)
  local from, buckets, open, count = a[BUCKETS], {}, {}, 0
  for b = 0, #from - 8, 8 do
    count = count + 1
    buckets[count] = { from[b + 1], from[b + 2], from[b + 4], from[b + 5], 0, from[b + 3], 0, false }
  end
  from, count = a[SESSIONS], 0
  if is_busy(a) then
    for n, tuple in ipairs(by_time:select({ a[1], 1 })) do
      local s = read_session(a[1], tuple[2])
      open[n] = { s[2], s[S_VERSION], s[DEADLINE] }
    end
  else
    for session = 1, #from, 3 do
      count = count + 1
      open[count] = { from[session], from[session + 1], from[session + 2] }
    end
  end
  out[at + 1], out[at + 2] = 'status', 'active'
  out[at + 3], out[at + 4] = 'version', a[VERSION]
  out[at + 5], out[at + 6] = 'identities', {}
  out[at + 7], out[at + 8] = 'buckets', buckets
  out[at + 9], out[at + 10] = 'counters', {}
  out[at + 11], out[at + 12] = 'sessions', open
  return out
end

-- account
function procedures.get(key)
  local a = load_account(key)
  if not a then return unknown_account() end
  return describe({}, 0, a)
end

-- account session
function procedures.session(key, id)
  local a, s = load(key, id)
  if not a then return unknown_account() end
  if not s or s[OPEN] == 0 then return unknown_session() end
  local item, slices, outstanding = s[ITEM], s[SLICES], 0
  for at = 2, #slices, 2 do outstanding = outstanding + slices[at] end
  local shown = { { item[1], item[2], item[3], outstanding, item[4], item[5], item[6], item[7], 0 } }
  local detail = { 'id', id, 'version', s[S_VERSION], 'deadline', s[DEADLINE], 'validity', s[6],
    'tcc', s[TCC_MS], 'overrun', 'overdraw', 'last_request', s[LAST], 'data', '', 'items', shown }
  return describe({ 'session', detail }, 2, a)
end

-- account
function procedures.audit(key)
  local a = load_account(key)
  if not a then return unknown_account() end
  local ok, from, buckets = 1, a[BUCKETS], {}
  for b = 0, #from - 8, 8 do
    if from[b + 4] + from[b + 5] ~= from[b + 6] - from[b + 7] or from[b + 5] < 0 then ok = 0 end
    buckets[#buckets + 1] = { from[b + 1], from[b + 2], from[b + 4], from[b + 5], from[b + 6], 0,
      from[b + 7], 0, 0, from[b + 8] }
  end
  return { 'ok', ok, 'version', a[VERSION], 'buckets', buckets, 'uncollected', {} }
end

local function finish(answer)
  if in_transaction() then commit() end
  return answer
end

for name, run in pairs(procedures) do
  _G['scur_' .. name] = function(...) return finish(run(...)) end
end

-- What a client that decides by itself needs: replace a value if it still is of the version that was
-- read. The version is a value's first eight bytes; '' where there was none.
function swap(key, version, value)
  local held = keys:get(key)
  if (held and held[2]:sub(1, 8) or '') ~= version then return 0 end
  keys:replace({ key, value })
  return 1
end

-- The same for many: key, version, value, ... Gives 1 or 0 for each.
function swap_all(list)
  local taken = {}
  begin()
  for i = 1, #list, 3 do taken[#taken + 1] = swap(list[i], list[i + 1], list[i + 2]) end
  commit()
  return taken
end

-- The values of many plain keys.
function mget(list)
  local values = {}
  for i = 1, #list do
    local held = keys:get(list[i])
    values[i] = held and held[2] or box.NULL
  end
  return values
end

-- Several plain keys in one transaction: key, value, ...
function mset(pairs)
  begin()
  for i = 1, #pairs, 2 do keys:replace({ pairs[i], pairs[i + 1] }) end
  commit()
  return 'OK'
end

-- Whether a replica follows its primary.
local function link()
  local primary = box.info.replication[1]
  local upstream = primary and primary.upstream
  return upstream and upstream.status == 'follow' and 'up' or 'down'
end

-- What the server says of itself, a line a field.
function info()
  local lines = {
    'tarantool_version:' .. box.info.version,
    'durability:' .. box.cfg.wal_mode,
    'master_repl_offset:' .. tostring(box.info.vclock[1] or 0):gsub('ULL', ''):gsub('LL', ''),
    'master_link_status:' .. link(),
    'used_memory:' .. tostring(box.slab.info().arena_used):gsub('ULL', ''),
  }
  return concat(lines, '\r\n') .. '\r\n'
end

-- Nobody connects before everything is there.
box.cfg { listen = settings.host .. ':' .. settings.port }
