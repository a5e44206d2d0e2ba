import { ExecError } from '../../host/index.ts'
import type { IpFamily } from '../../model/ip.ts'
import { stateChain } from '../../netfilter/state-chain.ts'
import { RulesError } from './errors.ts'
import type { Flavour, IptablesChoice, Run } from './iptables.ts'

/** What one flavour's programs are and what the kernel holds of that flavour. */
export interface FlavourState extends Programs {
  /** A PLAT-STATE chain stands in nat or filter. */
  readonly isOurs: boolean
  /** Rules in the built-in chains of nat and filter: zero means that no packet meets rules of this flavour. */
  readonly ruleCount: number
}

const timeoutMs = 10_000
const builtinChains = {
  nat: ['PREROUTING', 'INPUT', 'OUTPUT', 'POSTROUTING'],
  filter: ['INPUT', 'FORWARD', 'OUTPUT'],
} as const

/**
 * Chooses the flavour to write with. `auto`: the one that already holds our rules, else the only one that holds any, else what
 * plain `iptables` is. Throws RulesError (`not-found`) where the programs are missing.
 */
export async function detectIptables(run: Run, family: IpFamily, wish: 'auto' | Flavour): Promise<IptablesChoice> {
  const states = await readFlavours(run, family)
  const { state, reason } = wish === 'auto' ? chooseFlavour(states) : chooseByWish(states, wish)
  if (state === undefined) {
    throw new RulesError('not-found', `no ${wish === 'auto' ? '' : `${wish} `}iptables was found for ${family}`, {
      remedy: 'install the package iptables',
    })
  }
  return { family, flavour: state.flavour, program: state.program, version: state.version, reason }
}

/** An installed set of programs. */
export interface Programs {
  readonly flavour: Flavour
  /** `iptables-nft`, or plain `iptables` where there is no other of that flavour. */
  readonly program: string
  readonly version: string
  /** Whether plain `iptables` is this flavour. */
  readonly isDefault: boolean
}

export async function findPrograms(run: Run, family: IpFamily): Promise<readonly Programs[]> {
  const base = family === 'IPv4' ? 'iptables' : 'ip6tables'
  const plain = await readVersion(run, base)
  const found: Programs[] = []
  for (const flavour of ['nft', 'legacy'] as const) {
    const named = await readVersion(run, `${base}-${flavour}`)
    const isDefault = plain?.flavour === flavour
    if (named !== undefined) found.push({ ...named, flavour, program: `${base}-${flavour}`, isDefault })
    else if (isDefault) found.push({ ...plain, program: base, isDefault })
  }
  return found
}

/** The flavours whose programs are installed, and what the kernel holds of each. Loads no kernel module. */
export async function readFlavours(run: Run, family: IpFamily): Promise<readonly FlavourState[]> {
  const programs = await findPrograms(run, family)
  return Promise.all(
    programs.map(async (found) => {
      const tables = await usedTables(run, family, found.flavour)
      return { ...found, ...(await countRules(run, found.program, tables)) }
    }),
  )
}

export function chooseFlavour(states: readonly FlavourState[]): { state: FlavourState | undefined; reason: string } {
  const ours = states.filter((state) => state.isOurs)
  const used = states.filter((state) => state.ruleCount > 0)
  if (ours.length === 1) return { state: ours[0], reason: `our rules already stand in ${ours[0]?.flavour} tables` }
  if (used.length === 1) return { state: used[0], reason: `this node's rules stand in ${used[0]?.flavour} tables` }
  const state = states.find((candidate) => candidate.isDefault) ?? states[0]
  const because = used.length === 0 ? 'no rules stand yet' : 'rules stand in both kinds of tables'
  return { state, reason: `${because}, and \`iptables\` is ${state?.flavour} here` }
}

function chooseByWish(
  states: readonly FlavourState[],
  wish: Flavour,
): { state: FlavourState | undefined; reason: string } {
  return { state: states.find((state) => state.flavour === wish), reason: 'chosen by option' }
}

interface Version {
  readonly flavour: Flavour
  readonly version: string
}

/** `iptables v1.8.9 (nf_tables)`; before 1.8 there was only legacy, and no word for it. */
async function readVersion(run: Run, program: string): Promise<Version | undefined> {
  try {
    const { stdout } = await run(program, ['--version'], { timeoutMs })
    const version = /v(\d+(?:\.\d+)+)/.exec(stdout)?.[1]
    return version === undefined ? undefined : { version, flavour: stdout.includes('nf_tables') ? 'nft' : 'legacy' }
  } catch (thrown) {
    if (isMissing(thrown)) return undefined
    throw thrown
  }
}

/** Wrappers such as `ip netns exec` say 255 or 127 where the program does not exist. */
function isMissing(thrown: unknown): boolean {
  return thrown instanceof ExecError && (thrown.code === 'not-found' || /No such file|not found/.test(thrown.stderr))
}

type Table = keyof typeof builtinChains

/** Asking a legacy table for its rules makes the kernel load it, and every packet then passes it: ask only those in use. */
async function usedTables(run: Run, family: IpFamily, flavour: Flavour): Promise<readonly Table[]> {
  if (flavour === 'nft') return ['nat', 'filter']
  const names = await readLegacyTableNames(run, family)
  return (['nat', 'filter'] as const).filter((table) => names.includes(table))
}

/** The legacy tables that the kernel has loaded in this network namespace. */
export async function readLegacyTableNames(run: Run, family: IpFamily): Promise<readonly string[]> {
  try {
    const path = family === 'IPv4' ? '/proc/net/ip_tables_names' : '/proc/net/ip6_tables_names'
    const { stdout } = await run('cat', [path], { timeoutMs })
    return stdout.split('\n').filter((line) => line !== '')
  } catch (thrown) {
    if (thrown instanceof ExecError && thrown.code === 'failed') return []
    throw thrown
  }
}

async function countRules(
  run: Run,
  program: string,
  tables: readonly Table[],
): Promise<Pick<FlavourState, 'isOurs' | 'ruleCount'>> {
  let isOurs = false
  let ruleCount = 0
  for (const table of tables) {
    isOurs ||= (await listRules(run, program, table, stateChain)).length > 0
    for (const chain of builtinChains[table]) ruleCount += (await listRules(run, program, table, chain)).length
  }
  return { isOurs, ruleCount }
}

/** The `-A` lines of one chain; none where it does not exist or may not be read. */
async function listRules(run: Run, program: string, table: Table, chain: string): Promise<readonly string[]> {
  try {
    const { stdout } = await run(program, ['--wait', '5', '-t', table, '-S', chain], { timeoutMs })
    return stdout.split('\n').filter((line) => line.startsWith('-A '))
  } catch (thrown) {
    if (thrown instanceof ExecError && thrown.code === 'failed') return []
    throw thrown
  }
}
