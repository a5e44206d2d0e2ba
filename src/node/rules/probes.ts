import { type Finding, type Run, runProgram } from '../../host/index.ts'
import { describeError } from '../../model/errors.ts'
import type { TableName } from '../../netfilter/ruleset.ts'
import { RulesError } from './errors.ts'
import { chooseFlavour, type FlavourState, readFlavours } from './flavour.ts'
import { Iptables } from './iptables.ts'

/** A part of the kernel our rules use, with a rule that needs it and the table where that may stand. */
interface KernelPart {
  readonly name: string
  readonly table: TableName
  readonly rule: string
}

const kernelParts: readonly KernelPart[] = [
  { name: 'match comment', table: 'filter', rule: '-m comment --comment probe' },
  { name: 'match conntrack', table: 'filter', rule: '-m conntrack --ctstate NEW' },
  { name: 'match mark', table: 'filter', rule: '-m mark --mark 0x4000/0x4000' },
  { name: 'match addrtype', table: 'filter', rule: '-m addrtype --dst-type LOCAL' },
  { name: 'match statistic', table: 'filter', rule: '-m statistic --mode random --probability 0.5' },
  { name: 'match recent', table: 'nat', rule: '-m recent --name PLAT-PROBE --rcheck --seconds 1 --reap' },
  { name: 'target REJECT', table: 'filter', rule: '-j REJECT' },
  { name: 'target MARK', table: 'nat', rule: '-j MARK --or-mark 0x4000' },
  { name: 'target DNAT', table: 'nat', rule: '-p tcp -j DNAT --to-destination 192.0.2.1:80' },
  { name: 'target MASQUERADE', table: 'nat', rule: '-j MASQUERADE --random-fully' },
]

/** Which iptables there is, whether its kernel side works, and whether both kinds of tables are in use. Changes nothing. */
export async function probeIptables(run: Run = runProgram): Promise<readonly Finding[]> {
  const states = await readFlavours(run, 'IPv4')
  const { state, reason } = chooseFlavour(states)
  if (state === undefined) {
    return [{ level: 'fail', what: 'there is no iptables', remedy: 'apt-get install iptables' }]
  }
  const what = `iptables ${state.version}, ${state.flavour}: ${reason}`
  const unreadable = await findUnreadable(run, state)
  return [{ level: 'ok', what }, findMixture(states), ...unreadable, ...(await probeKernelParts(run, state))]
}

function findMixture(states: readonly FlavourState[]): Finding {
  const used = states.filter((state) => state.ruleCount > 0 || state.isOurs)
  if (used.length < 2) return { level: 'ok', what: 'only one kind of iptables tables is in use' }
  const counts = used.map((state) => `${state.ruleCount} in ${state.flavour}`).join(', ')
  return {
    level: 'warn',
    what: `both kinds of iptables tables carry rules (${counts}), and every packet passes both`,
    remedy:
      'find the program that writes the other kind (iptables-nft-save, iptables-legacy-save) and move it with ' +
      'update-alternatives --set iptables; `platnet cleanup` removes ours from both',
  }
}

/** Tables that others wrote to with nft what iptables cannot show; nothing where there are none. */
async function findUnreadable(run: Run, state: FlavourState): Promise<readonly Finding[]> {
  if (state.flavour === 'legacy') return []
  const iptables = new Iptables({ ...state, family: 'IPv4', reason: '' }, run)
  const findings: Finding[] = []
  for (const table of ['nat', 'filter'] as const) {
    const error = await iptables.save(table).then(
      () => undefined,
      (thrown: unknown) => thrown,
    )
    if (!(error instanceof RulesError) || error.code !== 'unreadable') continue
    const what = `${error.message}: ours are written all the same, and not all of it is compared`
    findings.push({ level: 'warn', what, remedy: error.remedy ?? '' })
  }
  return findings
}

/**
 * Really writes the rules, in a network namespace that is gone with the program that wrote them: `--test` asks the kernel
 * nothing. All at once first; one by one only to find which of them does not work.
 */
async function probeKernelParts(run: Run, state: FlavourState): Promise<readonly Finding[]> {
  const apart: Run = (file, args, options) => run('unshare', ['--net', file, ...args], options)
  const iptables = new Iptables({ ...state, family: 'IPv4', reason: '' }, apart)
  const failureOf = (parts: readonly KernelPart[]): Promise<unknown> =>
    iptables.restore(parts.map(renderProbe).join('')).then(
      () => undefined,
      (error: unknown) => error,
    )
  const failure = await failureOf(kernelParts)
  if (failure === undefined) return [{ level: 'ok', what: 'every match and target our rules need works' }]
  if (!(failure instanceof RulesError) || failure.code !== 'restore-failed') return [explainUntried(failure)]
  const findings: Finding[] = []
  for (const part of kernelParts) {
    const error = await failureOf([part])
    if (error !== undefined) findings.push(explainMissingPart(part.name, error))
  }
  return findings
}

function renderProbe({ table, rule }: KernelPart): string {
  return `*${table}\n:PLAT-PROBE - [0:0]\n-A PLAT-PROBE ${rule}\nCOMMIT\n`
}

function explainUntried(error: unknown): Finding {
  const what = `matches and targets could not be tried: ${describeError(error)}`
  return { level: 'warn', what, remedy: 'run the check as root, with the package util-linux installed' }
}

function explainMissingPart(name: string, error: unknown): Finding {
  const [kind, word = ''] = name.split(' ')
  const module = kind === 'match' ? `xt_${word}` : `xt_${word.toUpperCase()}`
  return {
    level: 'fail',
    what: `iptables ${name} does not work: ${describeError(error)}`,
    remedy: `modprobe ${module}, or use a kernel that has it`,
  }
}
