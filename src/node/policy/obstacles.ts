import { type Run, readSysctl, runProgram } from '../../host/index.ts'
import { describeError } from '../../model/errors.ts'
import type { IpFamily } from '../../model/ip.ts'
import { policyChains } from '../../netfilter/policy/names.ts'
import { probePolicyRules } from '../rules/index.ts'

const bridgeSysctls = {
  IPv4: 'net/bridge/bridge-nf-call-iptables',
  IPv6: 'net/bridge/bridge-nf-call-ip6tables',
} as const satisfies Record<IpFamily, string>

export interface ObstacleSearch {
  readonly families: readonly IpFamily[]
  readonly run?: Run
  /** Folder of kernel settings, for tests. */
  readonly sysctlRoot?: string
}

/** Finds the obstacles to enforcing policies, one sentence each with its remedy. Changes nothing. */
export async function findPolicyObstacles(search: ObstacleSearch): Promise<readonly string[]> {
  const { families, run = runProgram, sysctlRoot } = search
  const bridges = await Promise.all(families.map((family) => findBridgeObstacle(family, sysctlRoot)))
  const sets = await findSetObstacle(run)
  return [...bridges, sets].filter((obstacle) => obstacle !== undefined)
}

/** Finds parts of the kernel that the rules need and that do not work; returns none where rules of policies stand already. */
export async function findMissingParts(run: Run = runProgram): Promise<readonly string[]> {
  if (await hasPolicyRules(run)) return []
  const findings = await probePolicyRules(run)
  return findings
    .filter(({ level }) => level === 'fail')
    .map(({ what, remedy }) => (remedy === undefined ? what : `${what}: ${remedy}`))
}

/** The start that wrote them has proved that the kernel takes them. */
async function hasPolicyRules(run: Run): Promise<boolean> {
  const chain = policyChains.forward
  const asked = ['iptables-nft', 'iptables-legacy', 'iptables'].map((program) =>
    run(program, ['-t', 'mangle', '-S', chain], { timeoutMs: 10_000 }).then(
      () => true,
      () => false,
    ),
  )
  return (await Promise.all(asked)).includes(true)
}

/** Packets between two pods of one bridge meet no rule where this is off. */
async function findBridgeObstacle(family: IpFamily, root?: string): Promise<string | undefined> {
  const name = bridgeSysctls[family]
  const value = await readSysctl(name, root)
  if (value === 1) return undefined
  const remedy = value === undefined ? 'modprobe br_netfilter' : `sysctl -w ${name.replaceAll('/', '.')}=1`
  return `${name} is ${value ?? 'missing'}, so packets between pods on one bridge meet no rules: ${remedy}`
}

async function findSetObstacle(run: Run): Promise<string | undefined> {
  try {
    await run('ipset', ['list', '-name'], { timeoutMs: 10_000 })
    return undefined
  } catch (error) {
    return `ipset does not work: ${describeError(error)}: install the package ipset, and load the module ip_set`
  }
}
