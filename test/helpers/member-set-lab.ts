// Writers of sets of members beside rules that name them, in a namespace of the test.
import type { Run } from '../../src/host/index.ts'
import type { IpFamily } from '../../src/model/ip.ts'
import type { MemberSet, SetChange } from '../../src/netfilter/member-sets.ts'
import type { Chain, Hook, TableChange } from '../../src/netfilter/ruleset.ts'
import { detectIptables, type Flavour, Iptables, RulesWriter } from '../../src/node/rules/index.ts'
import { silentLogger } from '../../src/observe/logger.ts'
import type { TestNetns } from './netns.ts'

export const hooks: readonly Hook[] = [
  {
    table: 'mangle',
    builtin: 'FORWARD',
    rule: {
      matches: [{ kind: 'connection-state', states: ['RELATED', 'ESTABLISHED'], negated: true }],
      target: { kind: 'jump', chain: 'PLAT-NETPOL' },
    },
  },
]

interface Recorded {
  readonly writer: RulesWriter
  /** `ipset restore` and `iptables-nft-restore`, in order; of ipset with its input. */
  readonly restores: { program: string; input: string }[]
  /** Programs with this name are killed once. */
  fail: string | undefined
}

export async function startWriter(netns: TestNetns, flavour: Flavour, family: IpFamily = 'IPv4'): Promise<Recorded> {
  const choice = await detectIptables(netns.run, family, flavour)
  const recorded = { restores: [] as Recorded['restores'], fail: undefined as string | undefined }
  const run: Run = (file, args, options) => {
    const isRestore = file.endsWith('-restore') || args[0] === 'restore'
    if (isRestore) recorded.restores.push({ program: file, input: options.input ?? '' })
    if (!isRestore || recorded.fail !== file) return netns.run(file, args, options)
    recorded.fail = undefined
    return netns.run('sh', ['-c', 'kill -KILL $$'], options)
  }
  const options = { tables: ['mangle'], hooks, log: silentLogger } as const
  return Object.assign(recorded, { writer: new RulesWriter({ iptables: new Iptables(choice, run), ...options }) })
}

export const addresses: MemberSet = { type: 'hash:ip', family: 'IPv4', maxElements: 65_536 }
export const nothing: SetChange = { create: new Map(), add: new Map(), remove: new Map(), destroy: [] }

export function step(change: Partial<SetChange>): SetChange {
  return { ...nothing, ...change }
}

/** PLAT-NETPOL, which drops what comes from these sets. */
export function asking(...sets: readonly string[]): readonly TableChange[] {
  const chain: Chain = sets.map((set) => ({
    matches: [{ kind: 'in-set', set, by: ['src'] }],
    target: { kind: 'drop' },
  }))
  return [{ table: 'mangle', set: new Map([['PLAT-NETPOL', chain]]), remove: [] }]
}

/** `NAME ELEMENT` of all sets, sorted. */
export async function members(netns: TestNetns): Promise<readonly string[]> {
  const saved = await netns.exec('ipset', 'save')
  return Array.from(saved.matchAll(/^add (\S+ \S+)/gm), ([, member = '']) => member).sort()
}

export async function setNames(netns: TestNetns): Promise<readonly string[]> {
  return (await netns.exec('ipset', 'list', '-name'))
    .trim()
    .split('\n')
    .filter((name) => name !== '')
    .sort()
}
