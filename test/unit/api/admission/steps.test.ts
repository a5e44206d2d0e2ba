import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { AdmissionRequest, MutatingStep, ValidatingStep } from '../../../../src/api/admission/admission-request.ts'
import { type ApiDocument, type Metadata, withMetadata } from '../../../../src/api/document.ts'
import type { Answer, ItemTarget } from '../../../../src/api/request/request.ts'
import { configMaps } from '../../../../src/api/resources/config-maps.ts'
import { Registry } from '../../../../src/api/resources/registry.ts'
import { badRequest, StatusError } from '../../../../src/api/status.ts'
import { openMemoryStore } from '../../../../src/api/store/index.ts'
import { createObject } from '../../../../src/api/verbs/create.ts'
import { deleteObject } from '../../../../src/api/verbs/delete.ts'
import { replaceObject } from '../../../../src/api/verbs/update.ts'
import type { VerbContext } from '../../../../src/api/verbs/verb-context.ts'
import { silentLogger } from '../../../../src/observe/index.ts'

const resource = configMaps()
const target: ItemTarget = { resource, namespace: 'default', name: 'a', subresource: undefined }
const options = { dryRun: false, manager: 'tester', given: { fieldManager: 'tester', fieldValidation: 'Strict' } }
const body = { metadata: { name: 'a' }, data: { key: 'value' } }

interface Steps {
  readonly mutating?: MutatingStep['mutate']
  readonly validating?: ValidatingStep['validate']
}

/** A context of verbs over a store with the namespace `default`. */
async function contextWith({ mutating, validating }: Steps): Promise<VerbContext> {
  const store = openMemoryStore({ log: silentLogger })
  const registry = new Registry()
  registry.add(resource)
  const value = JSON.stringify({ kind: 'Namespace', apiVersion: 'v1', metadata: { name: 'default' } })
  await store.commit([{ kind: 'put', key: '/registry/namespaces/default', value, expectedRevision: 0 }])
  const isActive = () => true
  return {
    store,
    registry,
    dialect: 'kubernetes',
    now: () => new Date(0),
    newUid: () => 'uid',
    pickBelow: () => 0,
    tokenIssuer: { name: '', sign: () => '', verify: () => undefined, keySet: () => ({ keys: [] }) } as never,
    readYaml: () => Promise.reject(new Error('no YAML')),
    maxObjectBytes: 1e6,
    maxStoreBytes: 1e9,
    user: { name: 'jane', groups: [] },
    admission: {
      mutating: mutating === undefined ? [] : [{ isActive, mutate: mutating }],
      validating: validating === undefined ? [] : [{ isActive, validate: validating }],
    },
  }
}

function documentOf(answer: Answer): ApiDocument {
  assert.equal(answer.kind, 'object')
  return JSON.parse(answer.kind === 'object' ? answer.text : '{}') as ApiDocument
}

function brief({ operation, name, namespace, object, oldObject, options: given }: AdmissionRequest) {
  const data = (document: ApiDocument | undefined) => document?.['data'] ?? null
  return { operation, name, namespace, object: data(object), oldObject: data(oldObject), options: given?.['kind'] }
}

describe('the place of admission in the verbs', () => {
  test('validating steps see what is stored, before it is stored', async () => {
    const seen: unknown[] = []
    const context = await contextWith({ validating: async (request) => void seen.push(brief(request)) })
    await createObject(context, { ...target, name: undefined }, body, options)
    await replaceObject(context, target, { ...body, data: { key: 'other' } }, options)
    await deleteObject(context, target, { dryRun: false, preconditions: {} })
    const at = { name: 'a', namespace: 'default' }
    const [first, second] = [{ key: 'value' }, { key: 'other' }]
    assert.deepEqual(seen, [
      { operation: 'CREATE', ...at, object: first, oldObject: null, options: 'CreateOptions' },
      { operation: 'UPDATE', ...at, object: second, oldObject: first, options: 'UpdateOptions' },
      { operation: 'DELETE', ...at, object: null, oldObject: second, options: 'DeleteOptions' },
    ])
    await context.store.close()
  })

  test('what a mutating step returns is completed, checked and stored; its fields have no manager', async () => {
    const labelled = (document: ApiDocument, forged: Metadata) =>
      withMetadata(document, { labels: { by: 'step' }, generation: 7, ...forged })
    const context = await contextWith({
      mutating: async ({ object, operation }) =>
        object && labelled(object, operation === 'CREATE' ? { uid: 'forged' } : {}),
    })
    const created = documentOf(await createObject(context, { ...target, name: undefined }, body, options))
    assert.deepEqual(created.metadata.labels, { by: 'step' })
    assert.equal(created.metadata.uid, 'uid')
    assert.equal(JSON.stringify(created.metadata['managedFields']).includes('f:labels'), false)
    const changed = { ...body, data: { key: 'other' } }
    const updated = documentOf(await replaceObject(context, target, changed, options))
    assert.deepEqual([updated['data'], updated.metadata.labels], [changed.data, { by: 'step' }])
    assert.equal(JSON.stringify(updated.metadata['managedFields']).includes('f:labels'), false)
    await context.store.close()
  })

  test('a mutating step sees no name that the server generates', async () => {
    let shown: ApiDocument | undefined
    const mutating: MutatingStep['mutate'] = async ({ object }) => {
      shown = object
      return object
    }
    const context = await contextWith({ mutating })
    const named = { metadata: { generateName: 'a-' } }
    const created = documentOf(await createObject(context, { ...target, name: undefined }, named, options))
    assert.deepEqual([shown?.metadata.name, shown?.metadata.uid], [undefined, undefined])
    assert.match(created.metadata.name ?? '', /^a-.{5}$/)
    await context.store.close()
  })

  test('a wrong object of a mutating step is refused, and nothing that a step refuses is stored', async () => {
    const wrong = await contextWith({ mutating: async ({ object }) => object && { ...object, data: { '!': 'x' } } })
    await assert.rejects(createObject(wrong, target, body, options), (thrown) => codeOf(thrown) === 'Invalid')
    const refusing = await contextWith({ validating: () => Promise.reject(badRequest('no')) })
    await assert.rejects(createObject(refusing, target, body, options), (thrown) => codeOf(thrown) === 'BadRequest')
    assert.equal(await refusing.store.get('/registry/configmaps/default/a'), undefined)
    for (const { store } of [wrong, refusing]) await store.close()
  })

  test('the server itself is not subject to admission', async () => {
    const { user: _, ...context } = await contextWith({ validating: () => Promise.reject(badRequest('no')) })
    assert.equal(documentOf(await createObject(context, target, body, options)).metadata.name, 'a')
    await context.store.close()
  })
})

function codeOf(thrown: unknown): string | undefined {
  return thrown instanceof StatusError ? thrown.code : undefined
}
