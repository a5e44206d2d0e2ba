import { ExecError, type Finding, type Run, runProgram } from '../../host/index.ts'
import { describeError } from '../../model/errors.ts'
import type { IpFamily } from '../../model/ip.ts'
import { chooseFlavour, isMissing, readFlavours } from './flavour.ts'

/** A part of the kernel that policies use: rules of table mangle, or a type of ipset. */
interface PolicyPart {
  readonly name: string
  /** The kernel module that has it. */
  readonly module: string
  /** Input of `ipset restore`; the rules may name its sets. */
  readonly sets?: string
  /** The text after `-A PLAT-PROBE`. */
  readonly rule?: string
}

const timeoutMs = 10_000

/**
 * Findings about the parts that NetworkPolicy needs on this node: the program ipset, each type of set, and the rules of table mangle in both families. Everything
 * is really made, in a network namespace that is gone with the program that made it. Changes nothing.
 */
export async function probePolicyRules(run: Run = runProgram): Promise<readonly Finding[]> {
  const version = await run('ipset', ['--version'], { timeoutMs }).then(
    ({ stdout }) => /v(\d+(?:\.\d+)+)/.exec(stdout)?.[1] ?? 'of an unknown version',
    (error: unknown) => (isMissing(error) ? undefined : 'of an unknown version'),
  )
  if (version === undefined) {
    const what = 'there is no program ipset: NetworkPolicy cannot be enforced'
    return [{ level: 'fail', what, remedy: 'apt-get install ipset' }]
  }
  const families = await Promise.all((['IPv4', 'IPv6'] as const).map((family) => probeFamily(run, family)))
  return [{ level: 'ok', what: `ipset ${version}` }, ...families.flat()]
}

async function probeFamily(run: Run, family: IpFamily): Promise<readonly Finding[]> {
  const { state } = chooseFlavour(await readFlavours(run, family))
  if (state === undefined) {
    const what = `there is no iptables for ${family}: NetworkPolicy cannot be enforced there`
    return [{ level: 'fail', what, remedy: 'apt-get install iptables' }]
  }
  const parts = partsOf(family)
  const failureOf = (some: readonly PolicyPart[]) => tryParts(run, state.program, some)
  const failure = await failureOf(parts)
  if (failure === undefined)
    return [{ level: 'ok', what: `every ipset and rule that policies for ${family} need works` }]
  if (!(failure instanceof ExecError) || failure.code !== 'failed' || isForbidden(failure)) return [untried(failure)]
  const findings: Finding[] = []
  for (const part of parts) {
    const error = await failureOf([part])
    if (error !== undefined) findings.push(missingPart(part, family, error))
  }
  return findings.length > 0 ? findings : [untried(failure)]
}

function partsOf(family: IpFamily): readonly PolicyPart[] {
  const inet = family === 'IPv4' ? 'inet' : 'inet6'
  const create = (type: string, options = '') => `create PLAT-PROBE ${type} family ${inet}${options}\n`
  const table = family === 'IPv4' ? 'iptable_mangle' : 'ip6table_mangle'
  const sets = create('hash:ip')
  return [
    { name: 'table mangle', module: table, rule: '-j RETURN' },
    { name: 'ipset type hash:ip with counters', module: 'ip_set_hash_ip', sets: create('hash:ip', ' counters') },
    { name: 'ipset type hash:net', module: 'ip_set_hash_net', sets: create('hash:net') },
    { name: 'ipset type hash:ip,port', module: 'ip_set_hash_ipport', sets: create('hash:ip,port') },
    {
      name: 'ipset type hash:ip,port,ip with timeouts',
      module: 'ip_set_hash_ipportip',
      sets: create('hash:ip,port,ip', ' timeout 60'),
    },
    { name: 'match set', module: 'xt_set', sets, rule: '-m set --match-set PLAT-PROBE src' },
    { name: 'target SET', module: 'xt_set', sets, rule: '-j SET --add-set PLAT-PROBE src --exist' },
    { name: 'match multiport', module: 'xt_multiport', rule: '-p tcp -m multiport --dports 80,90:91' },
    { name: 'match conntrack', module: 'xt_conntrack', rule: '-m conntrack ! --ctstate RELATED,ESTABLISHED' },
    { name: 'match mark', module: 'xt_mark', rule: '-m mark --mark 0x10000/0x10000' },
    { name: 'target MARK', module: 'xt_mark', rule: '-j MARK --or-mark 0x10000' },
    ...(family === 'IPv6'
      ? [{ name: 'match icmp6', module: 'ip6_tables', rule: '-p ipv6-icmp -m icmp6 --icmpv6-type 135' }]
      : []),
  ]
}

/** Makes all parts in one new namespace, each with sets of its own; returns what failed. */
function tryParts(run: Run, program: string, parts: readonly PolicyPart[]): Promise<unknown> {
  const own = (text: string, index: number) => text.replaceAll('PLAT-PROBE', `PLAT-PROBE-${index}`)
  const sets = parts.map(({ sets = '' }, index) => own(sets, index)).join('')
  const rules = parts.flatMap(({ rule }, index) => (rule === undefined ? [] : [`-A PLAT-PROBE ${own(rule, index)}\n`]))
  const table = rules.length === 0 ? '' : `*mangle\n:PLAT-PROBE - [0:0]\n${rules.join('')}COMMIT\n`
  const restore = `printf %s "$2" | "$1"-restore --noflush --wait 5`
  const script = `printf %s "$3" | ipset restore${table === '' ? '' : ` && ${restore}`}`
  return run('unshare', ['--net', 'sh', '-c', script, 'sh', program, table, sets], { timeoutMs }).then(
    () => undefined,
    (error: unknown) => error,
  )
}

function isForbidden({ stderr }: ExecError): boolean {
  return /Operation not permitted|Permission denied/.test(stderr)
}

function untried(error: unknown): Finding {
  const what = `ipsets and rules of policies could not be tried: ${describeError(error)}`
  return { level: 'warn', what, remedy: 'run the check as root, with the package util-linux installed' }
}

function missingPart({ name, module }: PolicyPart, family: IpFamily, error: unknown): Finding {
  return {
    level: 'fail',
    what: `${name} does not work for ${family}, so NetworkPolicy cannot be enforced: ${describeError(error)}`,
    remedy: `modprobe ${module}, or use a kernel that has it`,
  }
}
