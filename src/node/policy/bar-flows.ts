import type { Run } from '../../host/index.ts'
import type { IpFamily } from '../../model/ip.ts'
import { fixedSets } from '../../netfilter/policy/names.ts'
import type { TrackedFlow } from './flow-cutter.ts'

/**
 * Puts flows that are to be cut into the set whose servers begin no connection to their clients. An element that is there already begins its
 * time anew. Throws ExecError, also where the set is full.
 */
export async function barFlows(family: IpFamily, flows: readonly TrackedFlow[], run: Run): Promise<void> {
  if (flows.length === 0) return
  const { cut } = fixedSets(family)
  const lines = flows.map(
    ({ protocol, source, replySource, replySourcePort }) =>
      `add ${cut} ${replySource},${protocol}:${replySourcePort},${source} -exist\n`,
  )
  await run('ipset', ['restore'], { input: [...new Set(lines)].join(''), timeoutMs: 60_000 })
}
