import { all, fields, oneOf, required } from '../schema/checks.ts'
import { defineKind } from './define-kind.ts'

/** What `/binding` of a Pod takes. It is stored nowhere. */
export const bindings = defineKind({
  group: '',
  version: 'v1',
  kind: 'Binding',
  plural: 'bindings',
  namespaced: true,
})

/** What `/eviction` of a Pod takes. It is stored nowhere. */
export const evictions = defineKind({
  group: 'policy',
  version: 'v1',
  kind: 'Eviction',
  plural: 'evictions',
  namespaced: true,
})

/** A Binding's target is a Node; its kind may be left out. */
export const bindingTarget = all([required('name'), fields({ kind: oneOf('Node', '<empty>') })])
