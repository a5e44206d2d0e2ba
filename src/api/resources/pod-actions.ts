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

/** Checks the target of a Binding: a Node; its kind may be absent. */
export const bindingTarget = all([required('name'), fields({ kind: oneOf('Node', '<empty>') })])
