import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { deleteFlows, deleteFlowsBetween, listFlowEnds, listFlows, type Run } from '../../../src/host/index.ts'
import type { Ip, IpFamily } from '../../../src/model/ip.ts'
import { ipOf } from '../../helpers/addresses.ts'
import { skipReason, type TestNetns, withNetns } from '../../helpers/netns.ts'

const networks = { IPv4: '10.96.0.0/24', IPv6: 'fd00:96::/64' } as const
const targets = {
  IPv4: { gone: '10.96.0.2', kept: '10.96.0.3' },
  IPv6: { gone: 'fd00:96::2', kept: 'fd00:96::3' },
} as const

/** One datagram from each of `count` ports. */
const sendFromMany = `
  const [target, count] = process.argv.slice(1)
  const { createSocket } = require('node:dgram')
  const sendOne = (port) => new Promise((resolve) => {
    const socket = createSocket(target.includes(':') ? 'udp6' : 'udp4')
    socket.bind(port, () => socket.send('?', 53, target, () => { socket.close(); resolve() }))
  })
  ;(async () => { for (let sent = 0; sent < Number(count); sent += 1) await sendOne(10_000 + sent) })()
`

async function openFlows(netns: TestNetns, family: IpFamily, target: string, count: number): Promise<void> {
  const program = await netns.start(process.execPath, ['--eval', sendFromMany, target, String(count)])
  await program.exited
  const flows = await listFlows(family, 'udp', netns.run)
  assert.equal(flows.filter(({ destination }) => destination === target).length, count)
}

for (const family of ['IPv4', 'IPv6'] as const) {
  test(
    `connections of many clients to one endpoint are forgotten by one command, and no others (${family})`,
    { skip: skipReason('iptables', 'ip6tables', 'conntrack'), timeout: 120_000 },
    () =>
      withNetns(async (lab) => {
        const netns = await lab.create()
        await netns.exec('ip', 'route', 'add', 'local', networks[family], 'dev', 'lo')
        const iptables = family === 'IPv4' ? 'iptables' : 'ip6tables'
        // The kernel tracks connections only where a rule needs it.
        await netns.exec(iptables, '-A', 'OUTPUT', '-m', 'conntrack', '--ctstate', 'NEW')
        const { gone, kept } = targets[family]
        await openFlows(netns, family, gone, 1000)
        await openFlows(netns, family, kept, 3)
        const commands: string[] = []
        const run: Run = async (file, args, options) => {
          commands.push(...(await readFile(args[1] ?? '', 'utf8')).trimEnd().split('\n'))
          return netns.run(file, args, options)
        }
        const stale = (await listFlows(family, 'udp', netns.run)).filter(({ destination }) => destination === gone)
        await deleteFlows(stale, run)
        const left = await listFlows(family, 'udp', netns.run)
        assert.deepEqual(
          left.map(({ destination }) => destination),
          [kept, kept, kept],
        )
        assert.equal(commands.length, 1)
      }),
  )
}

/** A packet of a protocol that conntrack knows by its number alone. */
const sendRaw = `use Socket; socket(S, AF_INET, SOCK_RAW, $ARGV[0]) or die $!;
  send(S, 'some bytes', 0, sockaddr_in(0, inet_aton($ARGV[1]))) or die $!`

test(
  'connections of every protocol are listed once for each two ends, and deleted alone',
  {
    skip: skipReason('iptables', 'conntrack', 'perl'),
    timeout: 120_000,
  },
  () =>
    withNetns(async (lab) => {
      const netns = await lab.create()
      await netns.exec('ip', 'route', 'add', 'local', networks.IPv4, 'dev', 'lo')
      await netns.exec('iptables', '-A', 'OUTPUT', '-m', 'conntrack', '--ctstate', 'NEW')
      const { gone, kept } = targets.IPv4
      await openFlows(netns, 'IPv4', gone, 3)
      for (const protocol of ['47', '253'])
        for (const target of [gone, kept]) await netns.exec('perl', '-e', sendRaw, protocol, target)
      const list = async (from?: readonly Ip[]) =>
        (await listFlowEnds('IPv4', { from, run: netns.run }))
          .filter(({ protocol, source }) => (protocol !== 1 && source === gone) || source === kept)
          .map(({ protocol, replySource, replySourcePort }) => `${protocol} ${replySource} ${replySourcePort}`)
          .sort()
      const others = [`253 ${kept} 0`, `47 ${kept} 0`]
      assert.deepEqual(await list(), [
        `17 ${gone} 53`,
        `253 ${gone} 0`,
        ...others.slice(0, 1),
        `47 ${gone} 0`,
        ...others.slice(1),
      ])
      const stale = (await listFlowEnds('IPv4', { run: netns.run })).filter(({ replySource }) => replySource === gone)
      await deleteFlowsBetween(stale, netns.run)
      assert.deepEqual(await list(), others)
      assert.deepEqual(await list([ipOf(gone)]), [])
    }),
)
