#!/usr/bin/env bash
# What a user does with the .deb, in a guest that scripts/systemd-guest.sh has booted, as root: it is installed,
# enabled, used, reloaded, killed, stopped, taken through a reboot and a loss of power, upgraded, removed and purged.
# The guest runs it anew at each boot: GUEST_BOOT says the how manieth.
# usage: checks.sh VERSION
set -euo pipefail
version=$1
next=99.0.0
settings=/etc/scurry/scurry.toml

say() { echo "guest: $*"; }
fail() {
  echo "guest: $*" >&2
  systemctl status scurry --no-pager -l >&2 || true
  journalctl -u scurry --no-pager -n 40 -o cat >&2 || true
  exit 1
}

# Waits until a command succeeds: many minutes by its tries, for the machine is emulated.
until_true() { # until_true COMMAND...
  local try
  for try in $(seq 600); do
    "$@" && return 0
    sleep 0.2
  done
  fail "after $try tries: $*"
}

seconds() { # seconds FROM, by the clock of the guest
  local now
  now=$(date +%s%N)
  printf '%d.%d' $(((now - $1) / 1000000000)) $(((now - $1) / 100000000 % 10))
}

# ---- The service ---------------------------------------------------------------------------------

# The property of the service as systemd has it.
property() { systemctl show scurry --property "$1" --value; }

is() { # is EXPECTED COMMAND..., one that prints a line
  local expected=$1 found
  shift
  found=$("$@" 2>&1) || true
  [ "$found" = "$expected" ] || fail "\`$*\` says $found, and should say $expected"
}

logged() { journalctl -u scurry --no-pager -o cat --since "@$1" | grep -qF "$2"; }

# systemd counts starts, so that a service that fails is not started for ever: these are ours.
systemctl_start() { # systemctl_start start|restart
  systemctl reset-failed scurry 2>/dev/null || true
  systemctl "$1" scurry || fail "systemctl $1 scurry ended with $?"
  is active systemctl is-active scurry
}

# Once there are users, who asks; the password comes from the environment.
user=()
ask() { scurry cli "${user[@]}" "$@"; }

debit() { # debit ID AMOUNT
  ask SCUR.DEBIT alice "$1" cent "$2" | grep -q OK || fail "$1 is refused"
}

has() { # has AMOUNT, the balance of alice
  local reply
  reply=$(ask SCUR.GET alice) || fail "no balance"
  grep -qE "\(integer\) $1\$" <<<"$reply" || fail "alice has not $1: $reply"
}

# ---- The first boot ------------------------------------------------------------------------------

install_it() {
  local begin
  begin=$(date +%s%N)
  dpkg -i "/guest/scurry_${version}_amd64.deb" >/dev/null
  say "dpkg -i: $(seconds "$begin") s"
  # Installing starts nothing.
  is inactive systemctl is-active scurry
  is disabled systemctl is-enabled scurry
  systemctl enable --now scurry 2>/dev/null || fail "systemctl enable --now ended with $?"
  # It says so when it serves: nobody has to wait.
  ask SCUR.CREATE alice BUCKET main cent 1000 >/dev/null || fail "no account"
  debit order-1 250
  say "from dpkg -i to the first charge: $(seconds "$begin") s"
  is active systemctl is-active scurry
  is enabled systemctl is-enabled scurry
  has 750
}

status_of() { sed -n "s/^$2:[[:space:]]*//p" "/proc/$1/status"; }

# What systemd has been told, and what the kernel holds of the process.
check_hardening() {
  local pid capabilities uid
  pid=$(property MainPID)
  uid=$(id -u scurry)
  for capabilities in CapInh CapPrm CapEff CapBnd CapAmb; do
    is 0000000000000000 status_of "$pid" "$capabilities"
  done
  is 1 status_of "$pid" NoNewPrivs
  is 2 status_of "$pid" Seccomp
  is "$(printf '%s\t%s\t%s\t%s' "$uid" "$uid" "$uid" "$uid")" status_of "$pid" Uid
  is scurry property User
  for name in ProtectSystem:strict ProtectHome:yes PrivateTmp:yes PrivateDevices:yes PrivateUsers:yes \
    MemoryDenyWriteExecute:yes RestrictNamespaces:yes ProtectProc:invisible NotifyAccess:main; do
    is "${name#*:}" property "${name%:*}"
  done
  # Of its user name space no other user has a name.
  ! grep -q 4294967295 "/proc/$pid/uid_map" || fail "it sees all users: $(cat "/proc/$pid/uid_map")"
  is scurry:scurry:700 stat -c '%U:%G:%a' /var/lib/scurry
  say "the process has no capability, no new privileges, a filter of system calls, and users of its own"
}

# The same program as the user without the unit, and within it before the server starts.
check_sandbox() {
  local outside=/var/lib/scurry/outside inside=/var/lib/scurry/inside
  mkdir -p /srv/open /home/open /tmp/open /run/systemd/system/scurry.service.d
  echo x | tee /home/open/file /tmp/open/file >/dev/null
  install -m 4755 /usr/bin/id /srv/open/id
  cp /guest/sandbox.pl /srv/sandbox.pl
  chmod 1777 /srv/open
  chmod 666 /dev/nvme0n1
  setpriv --reuid scurry --regid scurry --clear-groups perl /srv/sandbox.pl "$outside" ||
    fail "the program ended with $?"
  ! grep -v ': yes$' "$outside" || fail "nothing would be seen by these: without the unit they are refused too"
  printf '[Service]\nExecStartPre=/usr/bin/perl /srv/sandbox.pl %s\n' "$inside" \
    >/run/systemd/system/scurry.service.d/sandbox.conf
  systemctl daemon-reload
  systemctl_start restart
  rm -r /run/systemd/system/scurry.service.d
  systemctl daemon-reload
  [ "$(grep -c ': no$' "$inside")" = 12 ] && [ "$(tail -n 3 "$inside" | grep -c ': yes$')" = 3 ] ||
    fail "within the unit: $(cat "$inside")"
  say "within the unit it may not: $(sed -n 's/: no$//p' "$inside" | paste -sd, | sed 's/,/, /g')"
  rm "$outside" "$inside"
  chmod 600 /dev/nvme0n1
}

write_user() { # write_user NAME, in the place of all others; her password is her name
  local hash
  hash=$(echo "$1" | scurry hash-password)
  sed -i '/^# users of the test$/,$d' "$settings"
  printf '# users of the test\n[[users]]\nname = "%s"\npassword_hash = "%s"\nroles = %s\n' "$1" "$hash" \
    '["read", "charge", "provision", "admin"]' >>"$settings"
}

as() { # as NAME, from now on
  user=(--user "$1")
  export SCURRY_PASSWORD=$1
}

# The server takes users anew without an end: who is gone is out, who has come is in.
check_reload() {
  local pid since
  write_user ada
  systemctl_start restart
  as ada
  has 750
  pid=$(property MainPID)
  write_user bea
  since=$(date +%s)
  systemctl reload scurry || fail "systemctl reload scurry ended with $?"
  until_true logged "$since" "the users in $settings are taken"
  ! ask PING >/dev/null 2>&1 || fail "ada is in after a reload without her"
  as bea
  has 750
  is "$pid" property MainPID
  # A mistake is told, and changes nothing.
  since=$(date +%s)
  sed -i 's/^roles = .*/roles = ["nobody"]/' "$settings"
  systemctl reload scurry
  until_true logged "$since" nobody
  has 750
  write_user bea
  is "$pid" property MainPID
  say "reload: new users are in, old ones out, the process is the same"
}

check_kill() {
  local pid
  debit order-2 100
  pid=$(property MainPID)
  kill -9 "$pid"
  restarted() { [ "$(property MainPID)" != "$pid" ] && [ "$(property ActiveState)" = active ]; }
  until_true restarted
  is 1 property NRestarts
  has 650
  say "kill -9: systemd has started it again, with its balances"
}

check_stop() {
  local begin since
  systemctl_start restart
  has 650
  begin=$(date +%s%N)
  since=$(date +%s)
  systemctl stop scurry || fail "systemctl stop scurry ended with $?"
  say "systemctl stop: $(seconds "$begin") s"
  is inactive systemctl is-active scurry
  is success property Result
  is 0 property ExecMainStatus
  logged "$since" 'stopped: every client has its replies' || fail "its log has no last line"
  # Settings that are wrong: the start fails, and the log says why.
  since=$(date +%s)
  sed -i 's/^listen = /listn = /' "$settings"
  systemctl reset-failed scurry 2>/dev/null || true
  ! systemctl start scurry 2>/dev/null || fail "it starts with settings that are wrong"
  systemctl stop scurry
  logged "$since" listn || fail "its log does not name the mistake"
  sed -i 's/^listn = /listen = /' "$settings"
  begin=$(date +%s%N)
  systemctl_start start
  has 650
  say "systemctl start, until it serves: $(seconds "$begin") s"
}

# ---- The boots after it --------------------------------------------------------------------------

comes_by_itself() {
  until_true systemctl is-active --quiet scurry
  as bea
}

check_exposure() {
  local exposure
  exposure=$(systemd-analyze security --no-pager scurry | sed -n 's/.*exposure level for [^:]*: \([0-9.]*\).*/\1/p')
  say "systemd-analyze security says $exposure"
  [ "$(printf '%s\n1.4\n' "$exposure" | sort -V | tail -n1)" = 1.4 ] || fail "more is exposed than was"
}

# dpkg keeps settings that were changed, and the server that runs is the new one.
upgrade_it() {
  local pid
  pid=$(property MainPID)
  systemctl reset-failed scurry
  dpkg --force-confold -i "/guest/scurry_${next}_amd64.deb" >/dev/null 2>&1 || fail "dpkg -i ended with $?"
  is "$next" dpkg-query -W -f '${Version}' scurry
  is active systemctl is-active scurry
  is enabled systemctl is-enabled scurry
  is no property NeedDaemonReload
  [ "$(property MainPID)" != "$pid" ] || fail "the old server runs on"
  has 550
  grep -q '^name = "bea"' "$settings" || fail "the settings are not kept"
  is root:scurry:640 stat -c '%U:%G:%a' "$settings"
  grep -q '^# A line of the new version' "$settings.dpkg-dist" || fail "the new settings are not beside them"
  # A service that was stopped is not started by an upgrade.
  systemctl stop scurry
  dpkg --force-confold -i "/guest/scurry_${next}_amd64.deb" >/dev/null 2>&1
  is inactive systemctl is-active scurry
  systemctl_start start
  has 550
  say "upgrade: the new server runs, with its balances and settings"
}

remove_it() {
  local wants=/etc/systemd/system/multi-user.target.wants/scurry.service pid
  pid=$(property MainPID)
  [ -L "$wants" ] || fail "it is not enabled"
  dpkg -r scurry >/dev/null 2>&1 || fail "dpkg -r ended with $?"
  is inactive systemctl is-active scurry
  is not-found property LoadState
  [ ! -e "$wants" ] && [ ! -L "$wants" ] || fail "systemd would start at a boot what is not there"
  [ ! -e "/proc/$pid" ] || fail "the server runs on"
  [ -e "$settings" ] && [ -e /var/lib/scurry/MANIFEST ] || fail "settings or balances are gone"
  # As somebody who has changed his mind: all is there again.
  dpkg -i "/guest/scurry_${next}_amd64.deb" >/dev/null 2>&1
  is inactive systemctl is-active scurry
  systemctl_start start
  has 550
  dpkg -P scurry 2>&1 | grep -q '/var/lib/scurry is kept' || fail "purged without a word"
  [ ! -e "$settings" ] || fail "the settings are there after a purge"
  is not-found property LoadState
  is scurry:scurry:700 stat -c '%U:%G:%a' /var/lib/scurry
  [ -e /var/lib/scurry/MANIFEST ] || fail "the balances are gone"
  say "remove and purge: the service is gone, the balances are there"
}

case $GUEST_BOOT in
  1)
    install_it
    check_hardening
    check_sandbox
    check_reload
    check_kill
    check_stop
    # The guest boots again, in order.
    exit 75
    ;;
  2)
    comes_by_itself
    has 650
    say "reboot: it has come up by itself, with its balances"
    check_exposure
    debit order-3 100
    # The power is gone: what only the kernel has is lost.
    echo b >/proc/sysrq-trigger
    sleep infinity
    ;;
  3)
    comes_by_itself
    has 550
    say "loss of power: the charge that was answered before is there"
    upgrade_it
    remove_it
    ;;
  *) fail "boot $GUEST_BOOT" ;;
esac
