import type { Run } from '../../../../src/host/index.ts'
import { type Cidr, type Ip, parseCidr, parseIp } from '../../../../src/model/ip.ts'
import { addHash, emptyXorHash, hashItem, type XorHash } from '../../../../src/model/xor-hash.ts'
import { proxyHooks } from '../../../../src/netfilter/hooks.ts'
import type { Chain, Ruleset } from '../../../../src/netfilter/ruleset.ts'
import { stateChain } from '../../../../src/netfilter/state-chain.ts'
import type { BatchSize } from '../../../../src/node/rules/batches.ts'
import {
  detectIptables,
  type Flavour,
  Iptables,
  type RulesObserver,
  RulesWriter,
} from '../../../../src/node/rules/index.ts'
import { silentLogger } from '../../../../src/observe/logger.ts'
import type { TestNetns } from '../../../helpers/netns.ts'

/** Nat chains of one made-up Service: its dispatch rule is in PLAT-SERVICES, `port` tells two versions apart. */
export function serviceChains(index: number, port = 8080): ReadonlyMap<string, Chain> {
  const endpoint = (which: string, host: number): readonly [string, Chain] => [
    `PLAT-SEP-${index}${which}`,
    [
      {
        matches: [{ kind: 'source', cidr: cidr(`10.244.0.${host}/32`) }],
        target: { kind: 'jump', chain: 'PLAT-MARK-MASQ' },
      },
      {
        matches: [{ kind: 'protocol', protocol: 'tcp' }],
        target: { kind: 'dnat', address: ip(`10.244.0.${host}`), port },
      },
    ],
  ]
  return new Map([
    [
      `PLAT-SVC-${index}`,
      [
        { matches: [{ kind: 'statistic', probability: 1 / 3 }], target: { kind: 'jump', chain: `PLAT-SEP-${index}A` } },
        { matches: [{ kind: 'statistic', probability: 1 }], target: { kind: 'jump', chain: `PLAT-SEP-${index}B` } },
      ],
    ],
    endpoint('A', 2),
    endpoint('B', 3),
  ])
}

/** Everything for `count` Services, with one verdict in filter so that both tables have something to say. */
export function rulesetOf(count: number): Ruleset {
  const services = Array.from({ length: count }, (_, index) => serviceChains(index))
  const dispatch: Chain = Array.from({ length: count }, (_, index) => ({
    matches: [
      { kind: 'destination', cidr: cidr(`10.96.${index >> 8}.${index & 255}/32`) },
      { kind: 'destination-port', protocol: 'tcp', port: 80 },
    ],
    comment: `default/web-${index}`,
    target: { kind: 'jump', chain: `PLAT-SVC-${index}` },
  }))
  const refused: Chain = [
    {
      matches: [{ kind: 'destination', cidr: cidr('10.97.0.1/32') }],
      comment: 'has no endpoints',
      target: { kind: 'reject' },
    },
  ]
  return {
    nat: new Map<string, Chain>([
      ['PLAT-SERVICES', dispatch],
      ['PLAT-MARK-MASQ', [{ matches: [], target: { kind: 'mark-or', mask: 0x4000 } }]],
      ['PLAT-POSTROUTING', [{ matches: [], target: { kind: 'return' } }]],
      ...services.flatMap((chains) => [...chains]),
    ]),
    filter: new Map<string, Chain>([
      ['PLAT-SERVICES', refused],
      ['PLAT-NODEPORTS', []],
      ['PLAT-INPUT', [{ matches: [], target: { kind: 'jump', chain: 'PLAT-NODEPORTS' } }]],
      ['PLAT-INVALID', []],
      ['PLAT-FORWARD-PODS', []],
      [
        'PLAT-FORWARD',
        [{ matches: [{ kind: 'connection-state', states: ['RELATED', 'ESTABLISHED'] }], target: { kind: 'accept' } }],
      ],
    ]),
  }
}

export function hashOf(word: string): XorHash {
  return addHash(emptyXorHash, hashItem('test', word))
}

export interface WriterSetup {
  readonly run?: Run
  readonly observer?: RulesObserver
  readonly batches?: BatchSize
  readonly verifyIntervalMs?: number
}

export async function makeWriter(netns: TestNetns, flavour: Flavour, setup: WriterSetup = {}): Promise<RulesWriter> {
  const { run = netns.run, ...rest } = setup
  const choice = await detectIptables(netns.run, 'IPv4', flavour)
  return new RulesWriter({ iptables: new Iptables(choice, run), hooks: proxyHooks(), log: silentLogger, ...rest })
}

/** One table as saved, without comments, counters, time and the stamp. */
export async function savedTable(netns: TestNetns, flavour: Flavour, table: string): Promise<string> {
  const text = await netns.exec(`iptables-${flavour}-save`, '-t', table)
  const lines = text.split('\n').filter((line) => !line.startsWith('#') && !line.includes(stateChain))
  return lines.map((line) => line.replace(/ ?\[\d+:\d+\]/, '')).join('\n')
}

function cidr(text: string): Cidr {
  return parseCidr(text) ?? fail(text)
}

function ip(text: string): Ip {
  return parseIp(text) ?? fail(text)
}

function fail(text: string): never {
  throw new Error(`the test's own ${text} is wrong`)
}
