import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { type ApiDocument, isJsonObject, listAt, valueAt } from '../../../../src/api/document.ts'
import { applyConfiguration } from '../../../../src/api/managed-fields/apply.ts'
import { compareFields } from '../../../../src/api/managed-fields/compare.ts'
import {
  type FieldSet,
  intersectionOf,
  isEmptySet,
  noFields,
  unionOf,
} from '../../../../src/api/managed-fields/field-set.ts'
import { encodeFields } from '../../../../src/api/managed-fields/fields-v1.ts'
import { decodeEntries, type ManagedEntry } from '../../../../src/api/managed-fields/managed-entry.ts'
import { trackUpdate } from '../../../../src/api/managed-fields/track-update.ts'
import { inOnePiece } from '../../../../src/loop/time-slice.ts'
import type { JsonObject } from '../../../../src/model/api-object.ts'
import { widgetSchema as schema, widgets } from '../../../helpers/field-schemas.ts'

interface Step {
  readonly kind: 'apply' | 'update'
  readonly manager: string
  readonly config: JsonObject
  readonly isForced: boolean
}

const manager = fc.constantFrom('one', 'two', 'three')
const kind = fc.constantFrom('apply' as const, 'apply' as const, 'update' as const)
const steps = fc.array(fc.record({ kind, manager, config: widgets, isForced: fc.boolean() }), { maxLength: 8 })
const time = '2026-01-01T00:00:00Z'

type Outcome = { readonly kind: 'written'; readonly document: ApiDocument } | { readonly kind: 'conflict' }

function write(live: ApiDocument | undefined, { kind, manager, config, isForced }: Step): Outcome {
  const part = 'all'
  if (kind === 'apply') {
    const writer = { manager, operation: 'Apply', apiVersion: 'v1', subresource: '' } as const
    const result = inOnePiece(applyConfiguration({ schema, live, applied: config, writer, part, time, isForced }))
    return result.kind === 'merged'
      ? { kind: 'written', document: result.document as ApiDocument }
      : { kind: 'conflict' }
  }
  const writer = { manager, operation: 'Update', apiVersion: 'v1', subresource: '' } as const
  const next = { ...config, metadata: { name: 'w' } } as unknown as ApiDocument
  const managedFields =
    inOnePiece(trackUpdate({ schema, old: live, next, writer, part, time, requested: undefined })) ?? []
  return { kind: 'written', document: { ...next, metadata: { name: 'w', managedFields } } }
}

function entriesOf(document: ApiDocument | undefined): readonly ManagedEntry[] {
  return decodeEntries(document?.metadata['managedFields']) ?? []
}

/** Runs `check` on every write of a random sequence: the object before it, the step, the object after it. */
function everyWrite(check: (before: ApiDocument | undefined, step: Step, after: ApiDocument) => void): void {
  fc.assert(
    fc.property(steps, (sequence) => {
      let live: ApiDocument | undefined
      for (const step of sequence) {
        const outcome = write(live, step)
        if (outcome.kind === 'conflict') continue
        check(live, step, outcome.document)
        live = outcome.document
      }
    }),
  )
}

function show(set: FieldSet): string {
  return JSON.stringify(encodeFields(set))
}

describe('a random sequence of writes of three managers', () => {
  test('an apply that is not forced changes no value that another manager owns', () => {
    everyWrite((before, { kind, manager, isForced }, after) => {
      if (kind !== 'apply' || isForced) return
      const { changed } = compareFields(schema, before ?? {}, after)
      for (const entry of entriesOf(before)) {
        if (entry.manager === manager && entry.operation === 'Apply') continue
        const lost = intersectionOf(entry.fields, changed)
        assert.ok(isEmptySet(lost), `${entry.manager}: ${show(lost)}`)
      }
    })
  })

  test('an apply removes only what its manager owned, and what stands in a list item or map that goes with it', () => {
    everyWrite((before, { kind, manager, isForced }, after) => {
      if (kind !== 'apply' || isForced) return
      const isOwn = (entry: ManagedEntry) => entry.manager === manager && entry.operation === 'Apply'
      const others = entriesOf(before).filter((entry) => !isOwn(entry))
      const kept = others.reduce((set, entry) => unionOf(set, membersOf(entry.fields)), noFields)
      const { removed } = compareFields(schema, before ?? {}, after)
      const lost = intersectionOf(membersOf(removed), kept)
      assert.ok(isEmptySet(lost), show(lost))
    })
  })

  test('a list item never loses its key, and stands once', () => {
    everyWrite((_before, _step, after) => {
      const ports = listAt(after, 'spec', 'ports')
      const keys = ports.map((item) => `${valueAt(item, 'port')}/${valueAt(item, 'protocol') ?? 'TCP'}`)
      for (const item of ports) assert.equal(typeof valueAt(item, 'port'), 'number', JSON.stringify(ports))
      assert.equal(new Set(keys).size, keys.length, JSON.stringify(ports))
    })
  })

  test('what was applied stands in the object', () => {
    everyWrite((_before, { kind, config }, after) => {
      if (kind === 'update') return
      const { changed } = compareFields(schema, after, { ...after, ...merged(after, config) })
      assert.ok(isEmptySet(withoutMetadata(changed)), show(changed))
    })
  })
})

/** Without the fields below list items: whether they stay is for the owner of the item to say. */
function membersOf(set: FieldSet): FieldSet {
  const children = [...set.children].flatMap(([step, child]): [string, FieldSet][] => {
    if (!step.startsWith('k:')) return [[step, membersOf(child)]]
    return child.isMember ? [[step, { isMember: true, children: noFields.children }]] : []
  })
  return { isMember: set.isMember, children: new Map(children.filter(([, child]) => !isEmptySet(child))) }
}

/** The scalars of the configuration, which must all be in the object already. */
function merged(after: ApiDocument, config: JsonObject): JsonObject {
  if (!isJsonObject(config['spec'])) return {}
  const { spec } = config
  const live = isJsonObject(after['spec']) ? after['spec'] : {}
  const leaves = ['size', 'sealed', 'args'].filter((field) => spec[field] !== undefined)
  return { spec: { ...live, ...Object.fromEntries(leaves.map((field) => [field, spec[field]])) } }
}

function withoutMetadata(set: FieldSet): FieldSet {
  return { ...set, children: new Map([...set.children].filter(([step]) => step !== 'f:metadata')) }
}
