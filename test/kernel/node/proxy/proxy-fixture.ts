import { deleteFlows, type Flow, listFlows, openNftSession, type Run } from '../../../../src/host/index.ts'
import type { Ip } from '../../../../src/model/ip.ts'
import { proxyHooks } from '../../../../src/netfilter/hooks.ts'
import { ElementRuleset } from '../../../../src/netfilter/nft/element-ruleset.ts'
import {
  ClaimedServices,
  ConntrackCleaner,
  createConntrackMetrics,
  createProxyMetrics,
  IptablesMode,
  NftablesMode,
  ProxyPlane,
} from '../../../../src/node/proxy/index.ts'
import {
  detectIptables,
  type Flavour,
  Iptables,
  NftWriter,
  nftKernel,
  RulesWriter,
} from '../../../../src/node/rules/index.ts'
import type { NftKernel } from '../../../../src/node/rules/nft/kernel.ts'
import { AppliedRevisions, type ClusterAddresses, LiveNodeState } from '../../../../src/node/state/index.ts'
import { createMetrics, silentLogger } from '../../../../src/observe/index.ts'
import type { TestNetns } from '../../../helpers/netns.ts'
import { listElementsByNft } from '../../../helpers/nft-elements.ts'

export const nodeIp = '192.0.2.1'

/** What the proxy writes: rules of either flavour of iptables, or the table of maps. */
export type ProxyForm = Flavour | 'nftables'

/** Each form with the programs it needs. */
export const proxyForms = [
  ['nft', 'iptables-nft'],
  ['legacy', 'iptables-legacy'],
  ['nftables', 'nft'],
] as const satisfies readonly (readonly [ProxyForm, string])[]

export interface ProxySetup {
  readonly form?: ProxyForm
  readonly run?: Run
  readonly tcpGraceMs?: number
  readonly minGapMs?: () => number
  /** Whose the addresses are that Services claim; without it each Service has what it claims. */
  readonly claims?: { readonly addresses: ClusterAddresses; readonly apiServers: ReadonlySet<string> }
}

async function useIptables(netns: TestNetns, run: Run, flavour: Flavour) {
  const iptables = new Iptables(await detectIptables(netns.run, 'IPv4', flavour), run)
  const writer = new RulesWriter({ iptables, hooks: proxyHooks(), log: silentLogger })
  return { mode: new IptablesMode('IPv4', writer), writer }
}

/**
 * Neither the library nor netlink reaches the namespace from here: programs do. Where a test has a `run` of its own, all texts pass
 * through it.
 */
async function useNftables(netns: TestNetns, run: Run) {
  const kinds = run === netns.run ? (['interactive', 'program'] as const) : (['program'] as const)
  const session = await openNftSession({ run, start: netns.start, kinds })
  const ruleset = new ElementRuleset({ family: 'IPv4' })
  const kernel: NftKernel = {
    ...nftKernel({ session, run, socket: undefined, bulkSocket: undefined }),
    listsElements: true,
    listElements: (table, spec, take) => listElementsByNft(netns.run, table, spec, take),
  }
  const nftWriter = new NftWriter({ family: 'IPv4', kernel, wanted: ruleset, log: silentLogger })
  const writer = {
    start: (scope: { signal: AbortSignal }) => nftWriter.start(scope),
    verify: () => nftWriter.verify(),
    preview: () => nftWriter.preview(),
    health: () => nftWriter.health(),
    stop: async (scope: { signal: AbortSignal }) => {
      await nftWriter.stop(scope)
      await session.close()
    },
  }
  return { mode: new NftablesMode({ ruleset, writer: nftWriter }), writer }
}

/** The proxy of one family in a namespace, its objects handed over by the test. */
export async function startProxy(
  netns: TestNetns,
  { form = 'nft', run = netns.run, tcpGraceMs, claims, ...parts }: ProxySetup = {},
) {
  const state = new LiveNodeState(silentLogger)
  const applied = new AppliedRevisions(state)
  applied.register('proxy')
  const { mode, writer } = form === 'nftables' ? await useNftables(netns, run) : await useIptables(netns, run, form)
  const removed: Flow[] = []
  let searches = 0
  const metrics = createMetrics()
  const cleaner = new ConntrackCleaner<Flow>({
    family: 'IPv4',
    state,
    flows: {
      list: async (protocol) => {
        const found = await listFlows('IPv4', protocol, netns.run)
        searches += 1
        return found
      },
      remove: async (flows) => {
        removed.push(...flows)
        await deleteFlows(flows, netns.run)
      },
    },
    isLocalAddress: (address: Ip) => address === nodeIp,
    tcpGraceMs,
    metrics: createConntrackMetrics(metrics)('IPv4'),
    log: silentLogger,
  })
  const claimed = claims && new ClaimedServices({ ...claims, state, onRefused: () => {}, log: silentLogger })
  const plane = new ProxyPlane({
    ...parts,
    state: claimed ?? state,
    mode,
    applied,
    settings: { nodeName: 'n1', family: 'IPv4' },
    metrics: createProxyMetrics(metrics)('IPv4'),
    log: silentLogger,
    onApplied: (services) => cleaner.onApplied(services),
    onOvertaken: (services) => cleaner.onOvertaken(services),
  })
  await claimed?.start()
  await plane.start()
  const stop = async () => {
    const scope = { signal: AbortSignal.timeout(10_000) }
    for (const part of [plane, cleaner, writer]) await part.stop(scope)
    await claimed?.stop()
  }
  return { state, claimed, applied, plane, writer, removed, searches: () => searches, stop }
}
