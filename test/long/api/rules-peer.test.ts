import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Json, JsonObject } from '../../../src/model/api-object.ts'
import { type Reply, startTestServer, type TestServer } from '../../helpers/api-server.ts'
import { brokenRules, refusedRules } from '../../helpers/broken-rules.ts'
import { lackOfPeer, type Peer, startPeer } from '../../helpers/kubernetes-peer.ts'
import { routeCases } from '../../helpers/route-cases.ts'
import { answerCases, everythingSchema, expressionCases, type RuleCase } from '../../helpers/rule-cases.ts'
import { costCases } from '../../helpers/rule-cost-cases.ts'
import { transitionCases } from '../../helpers/transition-cases.ts'

const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
const why = lackOfPeer()

type Answer = Pick<Reply, 'code' | 'body'>

function kindOf(plural: string): string {
  return plural.charAt(0).toUpperCase() + plural.slice(1)
}

function definition(plural: string, properties: JsonObject) {
  const openAPIV3Schema = { type: 'object', properties }
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.example.com` },
    spec: {
      group: 'example.com',
      scope: 'Cluster',
      names: { plural, kind: kindOf(plural) },
      versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema } }],
    },
  }
}

/** The code, and what is wrong with which field. Kubernetes numbers the types of objects by the clock. */
function outcomeOf({ code, body }: Answer): unknown {
  const causes: readonly { field?: string; message: string }[] = body?.details?.causes ?? []
  const shown = causes.map(({ field, message }) => `${field}: ${message.replaceAll(/selfType\d+/g, 'selfType')}`)
  return code < 300 ? code : [code, ...shown.sort()]
}

describe('rules beside kube-apiserver', { skip: why ?? false }, () => {
  let ours: TestServer
  let peer: Peer
  before(async () => {
    ours = await startTestServer()
    peer = await startPeer()
  })
  after(async () => {
    await peer[Symbol.asyncDispose]()
    await ours.stop()
  })

  const both = async (method: string, path: string, body: unknown) =>
    [await ours.call(method, path, { body }), await peer.call(method, path, body)] as const

  async function define(plural: string, properties: JsonObject): Promise<void> {
    const replies = await both('POST', definitions, definition(plural, properties))
    assert.deepEqual(
      replies.map(({ code }) => code),
      [201, 201],
      JSON.stringify(replies.map(({ body }) => body.message)),
    )
    while ((await peer.call('GET', `/apis/example.com/v1/${plural}`)).code !== 200) await sleep(50)
  }

  function instance(plural: string, name: string, fields: JsonObject, resourceVersion?: string) {
    const metadata = { name, ...(resourceVersion === undefined ? {} : { resourceVersion }) }
    return { apiVersion: 'example.com/v1', kind: kindOf(plural), metadata, ...fields }
  }

  async function compareValues(plural: string, field: string, { title, values }: RuleCase): Promise<void> {
    for (const value of values) {
      const body = instance(plural, 'x', { [field]: value })
      const [mine, theirs] = await both('POST', `/apis/example.com/v1/${plural}?dryRun=All`, body)
      assert.deepEqual(outcomeOf(mine), outcomeOf(theirs), `${title} with ${JSON.stringify(value)}`)
    }
  }

  async function compareDefinition(title: string, schema: JsonObject): Promise<number> {
    const [mine, theirs] = await both('POST', `${definitions}?dryRun=All`, definition('tests', { spec: schema }))
    assert.deepEqual(outcomeOf(mine), outcomeOf(theirs), title)
    return mine.code
  }

  test('the same definitions are refused, with the same words', async () => {
    for (const rule of [...refusedRules, ...brokenRules]) {
      const rules = [typeof rule === 'string' ? { rule, message: 'wrong' } : rule]
      const schema = { type: 'object', properties: everythingSchema, 'x-kubernetes-validations': rules }
      await compareDefinition(JSON.stringify(rule), schema)
    }
  })

  test('rules that may cost too much are refused, with the same words', async () => {
    for (const { title, schema } of costCases) await compareDefinition(title, schema)
  })

  test('the same expressions hold, with the same errors where they do not', async () => {
    const known: RuleCase[] = []
    for (const each of expressionCases) {
      if ((await compareDefinition(each.title, each.schema)) < 300) known.push(each)
    }
    assert.ok(known.length > 140, `${known.length} expressions`)
    for (let start = 0; start < known.length; start += 20) {
      const plural = `exprs${String.fromCharCode(97 + start / 20)}`
      const part = known.slice(start, start + 20)
      await define(plural, Object.fromEntries(part.map(({ schema }, index) => [`c${index}`, schema])))
      for (const [index, each] of part.entries()) await compareValues(plural, `c${index}`, each)
    }
  })

  test('failed rules have the same messages, reasons and fields', async () => {
    for (const [index, each] of [...answerCases, ...routeCases].entries()) {
      const plural = `answers${String.fromCharCode(97 + index)}`
      await define(plural, { c: each.schema })
      await compareValues(plural, 'c', each)
    }
  })

  test('the same changes are refused', async () => {
    for (const [index, { title, schema, steps }] of transitionCases.entries()) {
      const plural = `steps${String.fromCharCode(97 + index)}`
      const path = `/apis/example.com/v1/${plural}`
      await define(plural, { c: schema })
      for (const [step, [old, next]] of steps.entries()) {
        const name = `x${step}`
        const created = await both('POST', path, instance(plural, name, { c: old }))
        assert.deepEqual(outcomeOf(created[0]), outcomeOf(created[1]), `${title}: ${JSON.stringify(old)}`)
        if (created[0].code >= 300) continue
        const put = (next_: Json, { body }: Answer) =>
          instance(plural, name, { c: next_ }, body.metadata.resourceVersion)
        const mine = await ours.call('PUT', `${path}/${name}`, { body: put(next, created[0]) })
        const theirs = await peer.call('PUT', `${path}/${name}`, put(next, created[1]))
        assert.deepEqual(outcomeOf(mine), outcomeOf(theirs), `${title}: ${JSON.stringify([old, next])}`)
      }
    }
  })
})
