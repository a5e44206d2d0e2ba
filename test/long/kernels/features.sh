# Which parts of our tables this kernel and this nft take, a line each; ends with 1 where they refuse a whole table or what it needs. Each try is in a
# network namespace of its own.
golden=test/golden/netfilter/nft-table
failed=0
judge() {
  if "$@" 2>/tmp/problem; then echo "ok      $name"; else
    echo "refused $name: $(head -n 2 /tmp/problem | tr '\n' ' ')"
    [ "$needed" = no ] || failed=1
  fi
}
load() {
  printf '%s\n' "$@" | sed 's/ } }$/\n}\n}/' >/tmp/try.nft
  judge unshare --net nft -f /tmp/try.nft
}

for family in ipv4 ipv6; do
  name="the table of $family, with elements of every kind"
  judge unshare --net sh -c "nft -f $golden/table-$family.nft && grep -v sticky-60 $golden/elements-$family.nft | nft -f -"
done

table='table ip x {'
name='concatenated key and data in a map'
load "$table map m { type ipv4_addr . inet_proto . inet_service . classid : ipv4_addr . inet_service; elements = { 1.1.1.1 . tcp . 80 . 0:1 : 2.2.2.2 . 8080 } } }"
name='dnat to a map with address and port'
load "$table map m { type ipv4_addr . inet_proto . inet_service . classid : ipv4_addr . inet_service; }
chain c { type nat hook prerouting priority -100; dnat ip to ip daddr . meta l4proto . th dport . meta priority map @m; } }"
name='meta priority set numgen random'
load "$table chain c { meta priority set numgen random mod 3 offset 1; } }"
name='meta priority set from a map'
load "$table map m { type ipv4_addr . inet_proto . inet_service : classid; }
chain c { meta priority set ip daddr . meta l4proto . th dport map @m; } }"
name='meta priority and mask vmap'
load "$table chain d { }
map m { type classid : verdict; elements = { 0:1 : jump d } }
chain c { meta priority and 0:ffff vmap @m; } }"
name='vmap with statement before'
load "$table chain d { }
chain c { meta priority set 0:1 goto d; } }"
name='map with size, dynamic, timeout'
load "$table map m { type ipv4_addr . inet_service : classid; size 1048576; flags dynamic,timeout; } }"
name='update of a map by the packet'
load "$table map m { type ipv4_addr . ipv4_addr . inet_proto . inet_service : classid; size 1048576; flags dynamic,timeout; }
chain c { update @m { ip saddr . ip daddr . meta l4proto . th dport timeout 60s : meta priority } } }"
name='add to a map by the packet'
load "$table map m { type ipv4_addr . ipv4_addr . inet_proto . inet_service : classid; size 1048576; flags dynamic,timeout; }
chain c { add @m { ip saddr . ip daddr . meta l4proto . th dport timeout 60s : meta priority } } }"
name='delete from a map by the packet'
load "$table map m { type ipv4_addr . ipv4_addr . inet_proto . inet_service : classid; size 1048576; flags dynamic,timeout; }
chain c { delete @m { ip saddr . ip daddr . meta l4proto . th dport : meta priority } } }"
name='intervals in concatenations'
load "$table set s { type ipv4_addr . inet_proto . inet_service . ipv4_addr; flags interval; elements = { 1.1.1.1 . tcp . 80 . 10.0.0.0/8 } } }"
name='fib daddr type local'
load "$table chain c { type nat hook prerouting priority -100; fib daddr type local accept; } }"
name='fib saddr type local in nat output'
load "$table chain c { type nat hook output priority -100; fib saddr type local accept; } }"
name='ct status dnat'
load "$table chain c { type nat hook postrouting priority 100; ct status dnat masquerade fully-random; } }"
name='reject with tcp reset'
load "$table set s { type inet_proto . inet_service; }
chain c { type filter hook input priority 0; meta l4proto . th dport @s meta l4proto tcp reject with tcp reset; meta l4proto . th dport @s reject; } }"
name='ct state vmap'
load "$table chain d { }
chain c { type filter hook forward priority -1; ct state vmap { new : jump d, invalid : drop } } }"
name='comment of an element'
load "$table set s { type mark; elements = { 1 comment \"abc\" } } }"
name='notrack in raw'
load "table ip x { chain c { type filter hook prerouting priority -300; udp dport 53 notrack; } }"
name='sctp protocol element'
load "$table set s { type ipv4_addr . inet_proto . inet_service; elements = { 1.1.1.1 . sctp . 9 } } }"
name='jhash key'
load "table ip6 x { map m { type mark : classid; size 1000; flags dynamic,timeout; }
chain c { update @m { jhash ip6 saddr . ip6 daddr . meta l4proto . th dport mod 4294967295 seed 0x1 timeout 60s : meta priority } } }"
name='delete and add of one element in one transaction'
load "add table ip x" "add set ip x s { type mark; }" "add element ip x s { 1 }" "delete element ip x s { 1 }" "add element ip x s { 1 }"

# What we do without.
needed=no
name='typeof map'
load "$table map m { typeof ip daddr . meta l4proto . th dport : ip daddr . th dport; } }"
name='numgen in a concatenated lookup'
load "$table map m { typeof ip daddr . meta l4proto . th dport . numgen random mod 3 : ip daddr . th dport; }
chain c { type nat hook prerouting priority -100; dnat ip to ip daddr . meta l4proto . th dport . numgen random mod 3 map @m; } }"
name='destroy command'
load 'destroy table ip x'
name='flags owner'
load 'table ip x { flags owner; }'
name='comment of a set'
load "$table set s { type mark; comment \"abc\"; } }"
exit $failed
