import assert from 'node:assert/strict'
import path from 'node:path'
import { before, describe, test } from 'node:test'
import { z } from 'zod'
import { runIsolated } from '../../src/demo/isolate.ts'
import { skipReason } from '../helpers/netns.ts'

const spanSchema = z.object({
  spanId: z.string(),
  parentSpanId: z.string(),
  name: z.string(),
  startNs: z.string().transform(BigInt),
  endNs: z.string().transform(BigInt),
  attributes: z.record(z.string(), z.unknown()),
  links: z.array(z.object({ spanId: z.string() })),
  service: z.string(),
  resource: z.record(z.string(), z.unknown()),
})
type Span = z.infer<typeof spanSchema>
const seenSchema = z.object({
  codes: z.array(z.number()),
  traces: z.array(z.array(spanSchema)),
  /** Of the first traces, also those that another trace has because one sync wrote the changes of both. */
  steps: z.array(z.array(spanSchema)),
  log: z.boolean(),
})

/** The span of that name, which must be the only one. */
function only(spans: readonly Span[], name: string, family?: string): Span {
  const found = spans.filter((span) => span.name === name && (!family || span.attributes['platnet.family'] === family))
  assert.equal(found.length, 1, `${found.length} spans ${name} of ${spans.map((span) => span.name)}`)
  return found[0] ?? assert.fail()
}

/** The steps of the sync of IPv4 rules. */
function stepsOf(seen: z.infer<typeof seenSchema>, index: number): Span[] {
  const sync = syncOf(seen.traces[index] ?? [])
  const owners = [sync.spanId, ...sync.links.map(({ spanId }) => spanId)]
  return (seen.steps[index] ?? []).filter(({ parentSpanId }) => owners.includes(parentSpanId))
}

/** The sync of IPv4 rules. */
function syncOf(spans: readonly Span[]): Span {
  return only(spans, 'sync rules', 'IPv4')
}

describe('a change in a cluster that exports its traces', { skip: skipReason('iptables', 'ipset', 'nft') }, () => {
  let seen: z.infer<typeof seenSchema>

  before(async () => {
    const program = path.join(import.meta.dirname, 'traces.program.ts')
    const { exitCode, stdout } = await runIsolated(program, [], {
      signal: AbortSignal.timeout(170_000),
      stdout: 'pipe',
    })
    assert.equal(exitCode, 0, stdout)
    seen = seenSchema.parse(JSON.parse(stdout.trimEnd().split('\n').at(-1) ?? ''))
    assert.deepEqual(seen.codes, [201, 201, 201])
  })

  test('is one trace from the request of the client to the write of the kernel, across server and agent', () => {
    for (const [index, resource] of ['services', 'endpointslices'].entries()) {
      const spans = seen.traces[index] ?? []
      const request = only(spans, `create ${resource}`)
      const commit = only(spans, 'store commit')
      const watched = only(spans, `watch ${resource}`)
      const sync = syncOf(spans)
      const chain = [request, commit, watched, sync]
      assert.equal(request.parentSpanId, 'b'.repeat(16))
      for (const [at, span] of chain.slice(1).entries()) assert.equal(span.parentSpanId, chain[at]?.spanId, span.name)
      const below = stepsOf(seen, index).map(({ name }) => name)
      assert.deepEqual(below.sort(), ['iptables-restore', 'plan rules'])
      assert.deepEqual(
        chain.map(({ service }) => service),
        ['platnet-server', 'platnet-server', 'platnet-agent', 'platnet-agent'],
      )
      assert.notEqual(commit.resource['process.pid'], watched.resource['process.pid'])
      assert.equal(watched.attributes['platnet.revision'], commit.attributes['platnet.revision'])
    }
  })

  test('is in time order: the kernel has the rules after the commit, within the sync', () => {
    const spans = seen.traces[1] ?? []
    const [commit, sync] = [only(spans, 'store commit'), syncOf(spans)]
    const write = stepsOf(seen, 1).find(({ name }) => name === 'iptables-restore') ?? assert.fail()
    // The processes read one clock, each with an error of two milliseconds at most.
    const errorNs = 4_000_000n
    assert.ok(write.startNs > commit.startNs - errorNs)
    assert.ok(write.startNs >= sync.startNs - 1000n && write.endNs <= sync.endNs + 1000n)
    assert.ok(write.endNs > write.startNs)
  })

  test('shows when DNS has the names of a Service, and when its rules of NetworkPolicies are written', () => {
    const [service = [], , policy = []] = seen.traces
    assert.equal(only(service, 'publish DNS names').parentSpanId, only(service, 'watch services').spanId)
    assert.equal(only(policy, 'sync policies', 'IPv4').parentSpanId, only(policy, 'watch networkpolicies').spanId)
  })

  test('costs no export error', () => {
    assert.equal(seen.log, false)
  })
})
