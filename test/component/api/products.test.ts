import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { PolicyRule } from '../../../src/api/access/policy-rule.ts'
import { rulesNotHeld } from '../../../src/api/access/rule-cover.ts'
import { pathsOf, setOfPaths } from '../../../src/api/managed-fields/field-set.ts'
import { applyJsonPatch } from '../../../src/api/patch/json-patch.ts'
import { applyStrategicPatch } from '../../../src/api/patch/strategic-patch.ts'
import { builtInSchema } from '../../../src/api/schema/built-in-schema.ts'
import type { Schema } from '../../../src/api/schema/schema.ts'
import { Validator } from '../../../src/api/schema/validate.ts'
import { matchesLabels, readLabelSelector } from '../../../src/model/selector.ts'
import { startTestServer } from '../../helpers/api-server.ts'
import { assertLinear, threadCpuMs } from '../../helpers/growth.ts'

const texts = (count: number) => Array.from({ length: count }, (_, index) => `v${index}`)
const pod = builtInSchema('', 'v1', 'Pod')

const listOf = (items: Schema): Schema => ({ type: 'object', properties: { a: { type: 'array', items } } })

describe('work with two lists grows with their sum', () => {
  test('strategic merge: named keys that are retained', () => {
    assertLinear('$retainKeys', 5_000, (size) => {
      const fields = Object.fromEntries(texts(size).map((key) => [key, 1]))
      applyStrategicPatch(pod, { spec: fields }, { spec: { ...fields, $retainKeys: texts(size) } })
    })
  })

  test('strategic merge: values that leave a list', () => {
    assertLinear('$deleteFromPrimitiveList', 10_000, (size) => {
      const finalizers = texts(size)
      const patch = { metadata: { finalizers, '$deleteFromPrimitiveList/finalizers': finalizers } }
      applyStrategicPatch(pod, { metadata: { finalizers } }, patch)
    })
  })

  test('strategic merge: items by their key, in another order', () => {
    assertLinear('containers', 5_000, (size) => {
      const containers = texts(size).map((name) => ({ name, image: 'x' }))
      const order = texts(size)
        .toReversed()
        .map((name) => ({ name }))
      applyStrategicPatch(pod, { spec: { containers } }, { spec: { containers, '$setElementOrder/containers': order } })
    })
  })

  test('a long enum for each item of a long list', () => {
    assertLinear('enum', 5_000, (size) => {
      const errors = new Validator(listOf({ type: 'string', enum: texts(size) })).validate({ a: texts(size) })
      assert.deepEqual(errors, [])
    })
  })

  test('a selector with many values and many objects', () => {
    assertLinear('values', 5_000, (size) => {
      const selector = readLabelSelector({ matchExpressions: [{ key: 'a', operator: 'In', values: texts(size) }] })
      assert.ok(selector !== undefined && texts(size).every((a) => matchesLabels(selector, { a })))
    })
  })

  test('paths of fields become a set', () => {
    assertLinear('paths', 10_000, (size) => {
      const paths = texts(size).map((name) => ['f:data', `f:${name}`])
      assert.deepEqual(pathsOf(setOfPaths(paths)).length, size)
    })
  })

  test('verbs and resources of a role under one held rule', () => {
    assertLinear('role', 5_000, (size) => {
      const rule = { ...noRule, apiGroups: [''], verbs: texts(size), resources: texts(size) }
      assert.deepEqual(rulesNotHeld([rule], [rule]), [])
    })
  })
})

const noRule: PolicyRule = { verbs: [], apiGroups: [], resources: [], resourceNames: [], nonResourceURLs: [] }

describe('what would take too long is refused soon', () => {
  test('10,000 operations at the start of a list of 200,000 items', () => {
    const items = Array.from({ length: 200_000 }, (_, index) => ({ index }))
    const patch = Array.from({ length: 10_000 }, () => ({ op: 'move', from: '/0', path: '/199998' }))
    const usedMs = threadCpuMs(() =>
      assert.throws(() => applyJsonPatch(items, patch), /may move at most 100000000 items/),
    )
    assert.ok(usedMs < 1_000, `${usedMs} ms`)
    const short = applyJsonPatch(
      items.slice(0, 4_000),
      patch.map((operation) => ({ ...operation, path: '/3998' })),
    )
    assert.equal(Array.isArray(short) && short.length, 4_000)
  })

  test('thousands of alternatives for each of many items', () => {
    const anyOf = texts(5_000).map((value) => ({ enum: [value] }))
    const validator = new Validator(listOf({ type: 'string', anyOf }))
    let errors: readonly { message: string }[] = []
    const usedMs = threadCpuMs(() => {
      errors = validator.validate({ a: Array.from({ length: 100_000 }, () => 'v4999') })
    })
    assert.match(errors[0]?.message ?? '', /too many values with too many alternatives/)
    assert.ok(usedMs < 3_000, `${usedMs} ms`)
    assert.deepEqual(validator.validate({ a: ['v1', 'v4999'] }), [])
  })

  test('a role that is compared with thousands of rules in thousands of names', () => {
    const held = texts(5_000).map((name) => ({
      ...noRule,
      verbs: ['get'],
      apiGroups: [''],
      resources: ['secrets'],
      resourceNames: [name],
    }))
    const wanted = { ...noRule, verbs: ['get'], apiGroups: [''], resources: ['secrets'], resourceNames: texts(5_000) }
    const usedMs = threadCpuMs(() => assert.equal(rulesNotHeld(held, [wanted]), undefined))
    assert.ok(usedMs < 2_000, `${usedMs} ms`)
    assert.deepEqual(rulesNotHeld(held.slice(0, 100), [{ ...wanted, resourceNames: texts(100) }]), [])
  })
})

test('a rule is held where several held rules together allow each of its cases', () => {
  const rule = (verbs: string[], resources: string[], more: Partial<PolicyRule> = {}): PolicyRule => ({
    ...noRule,
    verbs,
    apiGroups: [''],
    resources,
    ...more,
  })
  const table: readonly (readonly [held: PolicyRule[], wanted: PolicyRule, isHeld: boolean])[] = [
    [[rule(['get'], ['pods']), rule(['list'], ['pods'])], rule(['get', 'list'], ['pods']), true],
    [[rule(['get'], ['pods']), rule(['list'], ['nodes'])], rule(['get', 'list'], ['pods', 'nodes']), false],
    [[rule(['*'], ['*'])], rule(['get'], ['pods/log']), true],
    [[rule(['get'], ['*/scale'])], rule(['get'], ['pods/scale']), true],
    [[rule(['get'], ['*/scale'])], rule(['get'], ['pods']), false],
    [[rule(['get'], ['pods'])], rule(['*'], ['pods']), false],
    [[rule(['get'], ['pods'], { resourceNames: ['a'] })], rule(['get'], ['pods']), false],
    [[rule(['get'], ['pods'])], rule(['get'], ['pods'], { resourceNames: ['a'] }), true],
    [[rule(['get'], ['pods'])], rule(['get'], ['pods'], { apiGroups: ['', 'apps'] }), false],
    [
      [{ ...noRule, verbs: ['get'], nonResourceURLs: ['/logs*'] }],
      { ...noRule, verbs: ['get'], nonResourceURLs: ['/logs/a', '/logs'] },
      true,
    ],
    [
      [{ ...noRule, verbs: ['get'], nonResourceURLs: ['/logs/*'] }],
      { ...noRule, verbs: ['get', 'post'], nonResourceURLs: ['/logs/a'] },
      false,
    ],
    [[], { ...noRule, verbs: ['get'] }, true],
  ]
  for (const [held, wanted, isHeld] of table) {
    assert.equal(rulesNotHeld(held, [wanted])?.length === 0, isHeld, JSON.stringify([held, wanted]))
  }
})

test('operations that each add a level stop at the depth of a body', async () => {
  await using server = await startTestServer()
  await server.call('POST', '/api/v1/namespaces/default/configmaps', { body: { metadata: { name: 'deep' } } })
  const level = [
    { op: 'add', path: '/box', value: {} },
    { op: 'move', from: '/data', path: '/box/data' },
    { op: 'move', from: '/box', path: '/data' },
  ]
  const patch = [{ op: 'add', path: '/data', value: {} }, ...Array.from({ length: 3_300 }, () => level).flat()]
  const headers = { 'content-type': 'application/json-patch+json' }
  for (const query of ['', '?fieldValidation=Strict']) {
    const reply = await server.call('PATCH', `/api/v1/namespaces/default/configmaps/deep${query}`, {
      body: patch,
      headers,
    })
    assert.deepEqual(
      [reply.code, /nested more than 1000 levels/.test(reply.text)],
      [422, true],
      reply.text.slice(0, 300),
    )
  }
})
