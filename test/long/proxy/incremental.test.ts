import { describe, test } from 'node:test'
import type { Run } from '../../../src/host/index.ts'
import { detectIptables, type Flavour, Iptables } from '../../../src/node/rules/index.ts'
import { type RestoreFault, restoreFailure } from '../../helpers/fake-iptables.ts'
import { checkIncremental, type TestedKernel } from '../../helpers/incremental-events.ts'
import { skipReason, type TestNetns, withNetns } from '../../helpers/netns.ts'

const nothing = '*filter\nCOMMIT\n*nat\nCOMMIT\n'
const timeoutMs = 30_000

// Side by side: much of the time is waiting for the next attempt.
describe('after any events and failures the kernel holds what a fresh node would write at once', {
  concurrency: 2,
}, () => {
  for (const flavour of ['nft', 'legacy'] as const) {
    test(`with iptables-${flavour}`, { skip: skipReason(`iptables-${flavour}`), timeout: 1_800_000 }, () =>
      withNetns(async (lab) => {
        const namespaces = [await lab.create(), await lab.create()] as const
        const kernels = async () => {
          for (const each of namespaces)
            await each.run(`iptables-${flavour}-restore`, [], { timeoutMs, input: nothing })
          return [await realKernel(namespaces[0], flavour), await realKernel(namespaces[1], flavour)] as const
        }
        await checkIncremental({ numRuns: 40, kernels })
      }),
    )
  }
})

/** The iptables programs in a namespace; a restore fails where the test asks for it. */
async function realKernel(netns: TestNetns, flavour: Flavour): Promise<TestedKernel> {
  const choice = await detectIptables(netns.run, 'IPv4', flavour)
  const faults: RestoreFault[] = []
  const run: Run = async (file, args, options) => {
    const fault = file.endsWith('-restore') ? faults.shift() : undefined
    if (fault === 'lock held') throw restoreFailure('failed', 'Another app is currently holding the xtables lock')
    if (fault === 'refused') throw restoreFailure('failed', 'COMMIT failed')
    const input = options.input ?? ''
    const taken = fault === 'killed after the first commit' ? input.slice(0, input.indexOf('COMMIT\n') + 7) : input
    const result = await netns.run(file, args, { ...options, ...(input !== '' && { input: taken }) })
    if (fault !== undefined) throw restoreFailure('killed', '')
    return result
  }
  const contents = async (): Promise<unknown> => {
    const tables = await Promise.all(
      ['nat', 'filter'].map((table) => netns.exec(`iptables-${flavour}-save`, '-t', table)),
    )
    return tables.map(ourChains)
  }
  return { faults, iptables: () => new Iptables(choice, run), contents }
}

/** The rules of each of our chains, without the stamps, which tell of how the node came there. */
function ourChains(saved: string): ReadonlyMap<string, readonly string[]> {
  const chains = new Map<string, string[]>()
  for (const [, kind, name = '', rest = ''] of saved.matchAll(/^(:|-A )(PLAT-(?!STATE)\S+) (.*)$/gm)) {
    if (kind === ':') chains.set(name, [])
    else chains.get(name)?.push(rest)
  }
  return chains
}
