import assert from 'node:assert/strict'
import fc from 'fast-check'
import { type IpFamily, ipFamily } from '../../../../src/model/ip.ts'
import type { Flavour } from '../../../../src/node/rules/index.ts'
import { ipOf } from '../../../helpers/addresses.ts'
import { anyCluster, anyFlow } from '../../../helpers/arbitrary-policies.ts'
import { type AddressedTry, layout, type ModelCluster, nodeNames, withModelCluster } from './model-cluster.ts'
import { type AddressedFlow, PolicyNodes, type PolicyObjects } from './policy-nodes.ts'

export interface RandomPolicies {
  readonly flavour: Flavour
  /** Both where it is left out; the flows of the other are left out, too. */
  readonly families?: readonly IpFamily[]
  /** How many sets of policies, each with pods and namespaces, are written one after the other. */
  readonly sets: number
  readonly flowsPerSet: number
  readonly firstSeed: number
}

export interface Agreement {
  readonly allowed: number
  readonly denied: number
}

/** Nodes as ends of a flow beside the ends of `anyFlow`. */
const nodeEnds = nodeNames.flatMap((node) => [...layout[node].bridge, ...layout[node].uplink]).map(ipOf)
const podEnds = nodeNames
  .flatMap((node) => layout[node].places)
  .flatMap(({ addresses }) => addresses)
  .map(ipOf)

const anyNodeFlow: fc.Arbitrary<AddressedFlow> = fc
  .record({ node: fc.constantFrom(...nodeEnds), pod: fc.constantFrom(...podEnds), isFromNode: fc.boolean() })
  .filter(({ node, pod }) => node.includes(':') === pod.includes(':'))
  .map(({ node, pod, isFromNode }) => ({
    source: isFromNode ? node : pod,
    destination: isFromNode ? pod : node,
    protocol: 'TCP' as const,
    port: 80,
  }))

const anyPodFlow: fc.Arbitrary<AddressedFlow> = anyFlow.map(({ source, destination, protocol, port }) => {
  assert.ok(source.address !== undefined && destination.address !== undefined)
  return { source: source.address, destination: destination.address, protocol, port }
})

const anyAddressedFlow = fc.oneof({ weight: 9, arbitrary: anyPodFlow }, { weight: 1, arbitrary: anyNodeFlow })

/**
 * Writes random policies, pods and namespaces and sends packets from everywhere to everywhere: each arrives where the evaluator and the
 * tracer say that it does, and no other. Counts both, so that the caller can see that packets of both kinds were sent.
 */
export async function checkRandomPolicies({
  flavour,
  families = ['IPv4', 'IPv6'],
  sets,
  flowsPerSet,
  firstSeed,
}: RandomPolicies): Promise<Agreement> {
  const seen = { allowed: 0, denied: 0 }
  await withModelCluster(async (model) => {
    const nodes = await PolicyNodes.start(model, { flavour, families })
    let objects = sampleOne(anyCluster, firstSeed)
    for (let seed = firstSeed; seed < firstSeed + sets; seed += 1) {
      objects = nextObjects(objects, seed)
      await nodes.apply(objects)
      if (seed % 50 === 0) await forgetConnections(model)
      const flows = fc
        .sample(anyAddressedFlow, { numRuns: flowsPerSet, seed })
        .filter(({ source }) => families.includes(ipFamily(source)))
        .filter(({ source, destination }) => model.placeOf(source) !== model.placeOf(destination))
      const { allowed, denied } = await checkFlows(model, nodes, flows, `seed ${seed}`)
      seen.allowed += allowed
      seen.denied += denied
    }
    await nodes.stop()
  })
  return seen
}

/** Source ports and echo identifiers come again after 50,000 tries, sooner than conntrack forgets them. */
async function forgetConnections({ nodes }: ModelCluster): Promise<void> {
  for (const node of nodeNames) await nodes[node].exec('conntrack', '-F')
}

/** All new, or with other labels of pods or namespaces only, which are changes of members of sets and not of rules. */
function nextObjects(before: PolicyObjects, seed: number): PolicyObjects {
  const { policies, pods, namespaces } = sampleOne(anyCluster, seed)
  if (seed % 4 === 1) return { ...before, pods }
  if (seed % 4 === 2) return { ...before, namespaces }
  return { policies, pods, namespaces }
}

async function checkFlows(
  model: ModelCluster,
  nodes: PolicyNodes,
  flows: readonly AddressedFlow[],
  title: string,
): Promise<Agreement> {
  const judge = nodes.judge()
  const tries: readonly AddressedTry[] = flows.map((flow) => ({ ...flow, isWanted: judge(flow) }))
  for (const [index, flow] of flows.entries())
    assert.equal(nodes.traces(flow), tries[index]?.isWanted, `${title}: the tracer and ${describe(flow)}`)
  const outcomes = await model.probe(tries)
  for (const [index, each] of tries.entries())
    assert.equal(outcomes[index], each.isWanted ? model.answerTo(each) : '-', `${title}: ${describe(each)}`)
  const allowed = tries.filter(({ isWanted }) => isWanted).length
  return { allowed, denied: tries.length - allowed }
}

function describe({ source, destination, protocol, port }: AddressedFlow | AddressedTry): string {
  return `${source} > ${destination} ${protocol} ${port}`
}

function sampleOne<Value>(arbitrary: fc.Arbitrary<Value>, seed: number): Value {
  const [value] = fc.sample(arbitrary, { numRuns: 1, seed })
  return value ?? assert.fail()
}
