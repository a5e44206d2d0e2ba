import assert from 'node:assert/strict'
import { test } from 'node:test'
import { skipReason, withNetns } from '../../helpers/netns.ts'

const settings = ['tcp_timeout_established', 'tcp_timeout_close_wait', 'udp_timeout', 'tcp_be_liberal']

/** The module is loaded with the first rule that asks for connections. */
const program = `
  const { applySysctls, conntrackSysctls } = await import(process.argv[1])
  const wishes = { maxPerCore: 0, min: 0, tcpEstablishedMs: 86_400_000, tcpCloseWaitMs: 3_600_000, tcpBeLiberal: true, udpMs: 45_000, udpStreamMs: 0 }
  console.log(JSON.stringify(await applySysctls(conntrackSysctls(wishes, 2))))`

test(
  'the kernel keeps the times of connections as kube-proxy sets them, in its own network namespace',
  {
    skip: skipReason('iptables-nft', 'conntrack'),
  },
  () =>
    withNetns(async (lab) => {
      const [netns, other] = [await lab.create(), await lab.create()]
      for (const each of [netns, other])
        await each.exec('iptables-nft', '-A', 'INPUT', '-m', 'conntrack', '--ctstate', 'NEW', '-j', 'ACCEPT')
      const read = async (from: typeof netns) =>
        (await from.exec('cat', ...settings.map((name) => `/proc/sys/net/netfilter/nf_conntrack_${name}`)))
          .trim()
          .split('\n')
          .map(Number)
      const before = await read(netns)
      const module = new URL('../../../src/host/sysctl.ts', import.meta.url).pathname
      const printed = await netns.exec(process.execPath, '--input-type=module', '-e', program, module)
      const results: { name: string; problem?: string }[] = JSON.parse(printed)
      assert.deepEqual(
        results.flatMap(({ name, problem }) => (problem === undefined ? [] : [`${name}: ${problem}`])),
        [],
      )
      assert.deepEqual(await read(netns), [86_400, 3600, 45, 1])
      assert.deepEqual(await read(other), before, 'another network namespace keeps its own')
    }),
)
