import { all, fields, oneOf, required } from '../schema/checks.ts'
import { defineKind } from './define-kind.ts'

/** The kind Binding, the body of `/binding` of a Pod. It is never stored. */
export const bindings = defineKind({
  group: '',
  version: 'v1',
  kind: 'Binding',
  plural: 'bindings',
  namespaced: true,
})

/** The kind Eviction, the body of `/eviction` of a Pod. It is never stored. */
export const evictions = defineKind({
  group: 'policy',
  version: 'v1',
  kind: 'Eviction',
  plural: 'evictions',
  namespaced: true,
})

/** A Binding's target is a Node; its kind may be left out. */
export const bindingTarget = all([required('name'), fields({ kind: oneOf('Node', '<empty>') })])
