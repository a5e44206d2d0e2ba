import { type Finding, type Run, runProgram } from '../../host/index.ts'
import type { IpFamily } from '../../model/ip.ts'
import type { BaseChain } from '../../netfilter/foreign-path.ts'
import { chains } from '../../netfilter/names.ts'
import { readBaseChains } from './packet-path.ts'

/**
 * Base chains that drop forwarded packets which no rule of theirs accepts, and whether pods' traffic passes them. `willAccept`: an agent on this node writes
 * the rules that accept it. Changes nothing.
 */
export async function probeForwarding(willAccept: boolean, run: Run = runProgram): Promise<readonly Finding[]> {
  const families: readonly IpFamily[] = ['IPv4', 'IPv6']
  const found = await Promise.all(families.map((family) => readBaseChains(run, family)))
  const forward = new Map(found.flat().map((chain) => [chain.where, chain]))
  const dropping = [...forward.values()].filter(({ hook, policy }) => hook === 'FORWARD' && policy === 'drop')
  if (dropping.length === 0) return [{ level: 'ok', what: 'no policy drops what is forwarded' }]
  const isOursAnywhere = dropping.some(({ isOurs }) => isOurs)
  return dropping.map((chain) => describe(chain, willAccept, isOursAnywhere))
}

function describe(chain: BaseChain, willAccept: boolean, isOursAnywhere: boolean): Finding {
  const { where, chains: others, isOurs } = chain
  const isIptables = where.startsWith('ip')
  if ((others.get(chains.podForward)?.length ?? 0) > 0)
    return { level: 'ok', what: `${where}: the policy is DROP, and ${chains.podForward} accepts pods' traffic` }
  if (willAccept && isIptables && (isOurs || !isOursAnywhere))
    return { level: 'ok', what: `${where}: the policy is DROP; an agent accepts pods' traffic there` }
  const remedy = isIptables
    ? 'accept the networks of pods there, or start the agent with --accept-pod-traffic always where its rules stand in these tables'
    : 'accept the networks of pods in that chain: each base chain decides by itself, and what ours accept is dropped there all the same'
  return {
    level: 'warn',
    what: `${where}: the policy is DROP, and new connections of pods may be dropped there`,
    remedy,
  }
}
