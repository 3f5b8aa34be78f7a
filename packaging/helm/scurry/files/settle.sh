# Writes the settings of one node of a group, before each start of its pod. Nodes have addresses and no names, and a
# pod has another address with each start: so each node has a Service, whose address stays, and is reached there.
set -eu
number=${POD_NAME##*-}

# The address of a node's Service, which the cluster puts into the environment.
address() { # address NODE
  eval "found=\${NODE_$1:-}"
  case $found in
    '' | *'('*)
      echo "the Service of node $1 has no address yet: trying again" >&2
      exit 1
      ;;
  esac
}

others=
for node in 0 1 2; do
  address "$node"
  if [ "$node" = "$number" ]; then
    own=$found
    continue
  fi
  case $found in *:*) found="[$found]" ;; esac
  others="$others${others:+, }\"$found:7389\""
done

{
  echo "announce_ip = \"$own\""
  # A node that has joined knows the others, and takes no notice of this. All three have it: which of them begins the
  # group is said by a person, once, and not here.
  echo "join = [$others]"
  [ "$number" != "$REPLACE_NODE" ] || echo "replaces = \"$REPLACE_ID\""
  cat /etc/scurry/scurry.toml
} >/run/scurry/new.toml
mv /run/scurry/new.toml /run/scurry/scurry.toml
echo "node $number is reached at $own"
