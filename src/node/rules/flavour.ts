import { ExecError, type Run } from '../../host/index.ts'
import type { IpFamily } from '../../model/ip.ts'
import type { TableName } from '../../netfilter/ruleset.ts'
import { stateChain } from '../../netfilter/state-chain.ts'
import { RulesError } from './errors.ts'
import type { Flavour, IptablesChoice } from './iptables.ts'

/** The programs of one flavour, and the rules of that flavour in the kernel. */
export interface FlavourState extends Programs {
  /** A PLAT-STATE chain stands in nat, filter or mangle. */
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
  const programs = await findPrograms(run, family)
  const { state, reason } =
    wish === 'auto'
      ? await choose(run, family, programs)
      : { state: ofFlavour(programs, wish), reason: 'chosen by option' }
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
  const [plain, ...versions] = await Promise.all(
    [base, `${base}-nft`, `${base}-legacy`].map((program) => readVersion(run, program)),
  )
  const found: Programs[] = []
  for (const [index, flavour] of (['nft', 'legacy'] as const).entries()) {
    const named = versions[index]
    const isDefault = plain?.flavour === flavour
    if (named !== undefined) found.push({ ...named, flavour, program: `${base}-${flavour}`, isDefault })
    else if (isDefault) found.push({ ...plain, program: base, isDefault })
  }
  return found
}

/** The flavours whose programs are installed, and what the kernel holds of each. Loads no kernel module. */
export async function readFlavours(run: Run, family: IpFamily): Promise<readonly FlavourState[]> {
  const programs = await findPrograms(run, family)
  return Promise.all(programs.map((found) => readFlavour(run, family, found)))
}

async function readFlavour(run: Run, family: IpFamily, found: Programs): Promise<FlavourState> {
  const tables = await usedTables(run, family, found.flavour)
  const [isOurs, ruleCount] = await Promise.all([
    hasOurs(run, found, family, tables),
    countRules(run, found.program, tables),
  ])
  return { ...found, isOurs, ruleCount }
}

export function chooseFlavour(states: readonly FlavourState[]): { state: FlavourState | undefined; reason: string } {
  const ours = states.filter((state) => state.isOurs)
  const used = states.filter((state) => state.ruleCount > 0)
  if (ours.length === 1) return { state: ours[0], reason: reasonOfOurs(ours[0]) }
  if (used.length === 1) return { state: used[0], reason: `this node's rules stand in ${used[0]?.flavour} tables` }
  const state = states.find((candidate) => candidate.isDefault) ?? states[0]
  const because = used.length === 0 ? 'no rules stand yet' : 'rules stand in both kinds of tables'
  return { state, reason: `${because}, and \`iptables\` is ${state?.flavour} here` }
}

/** At a restart our rules tell, without any counting: that would start a program for each built-in chain. */
async function choose(
  run: Run,
  family: IpFamily,
  programs: readonly Programs[],
): Promise<{ state: Programs | undefined; reason: string }> {
  const ours = await findOurs(run, family, programs)
  if (ours.length === 1) return { state: ours[0], reason: reasonOfOurs(ours[0]) }
  return chooseFlavour(await Promise.all(programs.map((found) => readFlavour(run, family, found))))
}

async function findOurs(run: Run, family: IpFamily, programs: readonly Programs[]): Promise<readonly Programs[]> {
  const marks = await Promise.all(programs.map((found) => hasOurs(run, found, family)))
  return programs.filter((_, index) => marks[index])
}

/** Whether rules of ours stand in the tables of one flavour, and of one alone. */
export async function hasOurRules(run: Run): Promise<boolean> {
  return (await findOurs(run, 'IPv4', await findPrograms(run, 'IPv4'))).length === 1
}

function ofFlavour(programs: readonly Programs[], wish: Flavour): Programs | undefined {
  return programs.find(({ flavour }) => flavour === wish)
}

function reasonOfOurs(state: Programs | undefined): string {
  return `our rules already stand in ${state?.flavour} tables`
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
export function isMissing(thrown: unknown): boolean {
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

async function hasOurs(run: Run, found: Programs, family: IpFamily, tables?: readonly Table[]): Promise<boolean> {
  for (const table of tables ?? (await usedTables(run, family, found.flavour))) {
    if ((await listRules(run, found.program, table, stateChain)).length > 0) return true
  }
  // An agent without the proxy writes to mangle alone.
  if (!(await isMangleUsed(run, family, found.flavour))) return false
  return (await listRules(run, found.program, 'mangle', stateChain)).length > 0
}

async function isMangleUsed(run: Run, family: IpFamily, flavour: Flavour): Promise<boolean> {
  return flavour === 'nft' || (await readLegacyTableNames(run, family)).includes('mangle')
}

/** Counts the rules of the built-in chains. */
async function countRules(run: Run, program: string, tables: readonly Table[]): Promise<number> {
  const places = tables.flatMap((table) => builtinChains[table].map((chain) => ({ table, chain })))
  const lists = await Promise.all(places.map(({ table, chain }) => listRules(run, program, table, chain)))
  return lists.reduce((sum, rules) => sum + rules.length, 0)
}

/** The `-A` lines of one chain; none where it does not exist or may not be read. */
async function listRules(run: Run, program: string, table: TableName, chain: string): Promise<readonly string[]> {
  try {
    const { stdout } = await run(program, ['--wait', '5', '-t', table, '-S', chain], { timeoutMs })
    return stdout.split('\n').filter((line) => line.startsWith('-A '))
  } catch (thrown) {
    if (thrown instanceof ExecError && thrown.code === 'failed') return []
    throw thrown
  }
}
