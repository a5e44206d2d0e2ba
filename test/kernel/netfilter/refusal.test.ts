import assert from 'node:assert/strict'
import { test } from 'node:test'
import { proxyHooks } from '../../../src/netfilter/hooks.ts'
import { renderChange } from '../../../src/netfilter/nft/render-change.ts'
import { renderRule } from '../../../src/netfilter/render.ts'
import { skipReason, type TestNetns, withNetns } from '../../helpers/netns.ts'
import { buildRuleset, type LabRuleset } from '../../helpers/proxy-lab.ts'
import { renderRestore } from '../../helpers/rulesets.ts'
import { makePort, makeService } from '../../helpers/services.ts'

const places = {
  IPv4: { clusterIp: '10.96.0.1' },
  IPv6: { clusterIp: 'fd00:96::1' },
} as const

/** Returns the error that a blocking client gets: from connect() for TCP, for UDP from recv() within 30 s of a datagram. */
const client = `
use Socket qw(:all);
my ($family, $host, $protocol) = @ARGV;
socket(my $socket, $family eq 'IPv4' ? AF_INET : AF_INET6, $protocol eq 'TCP' ? SOCK_STREAM : SOCK_DGRAM, 0) or die "socket: $!";
setsockopt($socket, SOL_SOCKET, SO_RCVTIMEO, pack('l!l!', 30, 0)) or die "setsockopt: $!";
my $address = $family eq 'IPv4' ? pack_sockaddr_in(80, inet_pton(AF_INET, $host)) : pack_sockaddr_in6(80, inet_pton(AF_INET6, $host));
my $connected = connect($socket, $address);
if ($connected && $protocol eq 'UDP') {
  send($socket, '?', 0);
  $connected = defined recv($socket, my $answer, 1, 0);
}
print $connected ? 'answered' : $!;`

for (const mode of ['iptables-nft', 'iptables-legacy', 'nftables'] as const) {
  const title = `a client on this machine is refused by its first packet, TCP and UDP, in both families (${mode})`
  const skip = skipReason(mode === 'nftables' ? 'nft' : mode, 'perl')
  test(title, { skip, timeout: 120_000 }, () =>
    withNetns(async (lab) => {
      const netns = await lab.create()
      await addLink(netns)
      for (const family of ['IPv4', 'IPv6'] as const) {
        if (mode === 'nftables') await installElements(netns, family)
        else await install(netns, mode, family)
        for (const protocol of ['TCP', 'UDP'])
          assert.equal(await ask(netns, family, protocol), 'Connection refused', `${family} ${protocol}`)
      }
      assert.equal(await synRetransmissions(netns), 0)
    }),
  )
}

/** A gateway to which packets are routed; no host has the address. */
async function addLink(netns: TestNetns): Promise<void> {
  await netns.exec('ip', 'link', 'add', 'plt0', 'type', 'veth', 'peer', 'name', 'plt1')
  await netns.exec('ip', 'link', 'set', 'plt0', 'up')
  await netns.exec('ip', 'link', 'set', 'plt1', 'up')
  await netns.exec('ip', 'address', 'add', '192.0.2.1/24', 'dev', 'plt0')
  await netns.exec('ip', 'address', 'add', '2001:db8:2::1/64', 'dev', 'plt0', 'nodad')
  await netns.exec('ip', 'route', 'add', '10.96.0.0/16', 'dev', 'plt0')
  await netns.exec('ip', '-6', 'route', 'add', 'fd00:96::/64', 'dev', 'plt0')
}

function rulesOf(family: 'IPv4' | 'IPv6'): LabRuleset {
  const ports = [makePort('tcp', 'TCP', 80), makePort('udp', 'UDP', 80)]
  const service = makeService('default/web', places[family].clusterIp, { ports })
  return buildRuleset([{ service, slices: [] }], { family })
}

async function install(
  netns: TestNetns,
  mode: 'iptables-nft' | 'iptables-legacy',
  family: 'IPv4' | 'IPv6',
): Promise<void> {
  const { filter } = rulesOf(family).ruleset()
  const hooks = proxyHooks()
    .filter(({ table }) => table === 'filter')
    .map(({ builtin, rule }) => `${renderRule(builtin, rule, family)}\n`)
  const rules = renderRestore([{ table: 'filter', set: filter, remove: [] }], family)
  const input = rules.replace('COMMIT\n', `${hooks.join('')}COMMIT\n`)
  const program = family === 'IPv4' ? mode : mode.replace('iptables', 'ip6tables')
  await netns.run(`${program}-restore`, ['--noflush'], { timeoutMs: 30_000, input })
}

async function installElements(netns: TestNetns, family: 'IPv4' | 'IPv6'): Promise<void> {
  const { elements } = rulesOf(family)
  const change = { service: undefined, remove: [], add: [...elements.all()] }
  const input = elements.table.text + renderChange(elements.table, [change])
  await netns.run('nft', ['-f', '-'], { timeoutMs: 30_000, input })
}

async function ask(netns: TestNetns, family: 'IPv4' | 'IPv6', protocol: string): Promise<string> {
  const args = ['-e', client, family, places[family].clusterIp, protocol]
  return (await netns.run('perl', args, { timeoutMs: 60_000 })).stdout
}

/** The retransmissions of this namespace since it was made. A SYN is sent again after 1 s, so a client with one was not refused at once. */
async function synRetransmissions(netns: TestNetns): Promise<number> {
  const [names = [], values = []] = (await netns.exec('cat', '/proc/net/netstat'))
    .split('\n')
    .filter((line) => line.startsWith('TcpExt:'))
    .map((line) => line.split(' '))
  return Number(values[names.indexOf('TCPSynRetrans')])
}
