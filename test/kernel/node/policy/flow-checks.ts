import assert from 'node:assert/strict'
import { flowOf } from '../../../helpers/policy-corners.ts'
import type { ModelCluster } from './model-cluster.ts'
import type { AddressedFlow, PolicyNodes } from './policy-nodes.ts'

/** What flows must meet, in the words of `flowOf`. */
export interface Expected {
  readonly title: string
  readonly allowed?: readonly string[]
  readonly denied?: readonly string[]
}

function addressed(text: string): AddressedFlow {
  const { source, destination, protocol, port } = flowOf(text)
  assert.ok(source.address !== undefined && destination.address !== undefined)
  return { source: source.address, destination: destination.address, protocol, port }
}

/** Sends what is written; every outcome must be as written. What a namespace sends to itself meets no rule and is left out. */
export async function checkPackets(model: ModelCluster, { title, allowed = [], denied = [] }: Expected): Promise<void> {
  const tries = [...allowed, ...denied]
    .map((text) => ({ ...addressed(text), text, isWanted: allowed.includes(text) }))
    .filter(({ source, destination }) => model.placeOf(source) !== model.placeOf(destination))
  const outcomes = await model.probe(tries)
  for (const [index, each] of tries.entries())
    assert.equal(outcomes[index], each.isWanted ? model.answerTo(each) : '-', `${title}: ${each.text}`)
}

/** Checks that evaluator, tracer and kernel say what is written. */
export async function checkEveryView(model: ModelCluster, nodes: PolicyNodes, expected: Expected): Promise<void> {
  const judge = nodes.judge()
  const { title, allowed = [], denied = [] } = expected
  for (const text of [...allowed, ...denied]) {
    const isWanted = allowed.includes(text)
    assert.equal(judge(addressed(text)), isWanted, `${title}: ${text} by the evaluator`)
    assert.equal(nodes.traces(addressed(text)), isWanted, `${title}: ${text} by the tracer`)
  }
  await checkPackets(model, expected)
}
