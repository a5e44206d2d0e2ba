import { valueAt } from '../document.ts'
import { defineKind } from './define-kind.ts'
import { column } from './resource.ts'

/** The kind Scale, the body of `/scale` of other kinds. It is never stored. */
export const scales = defineKind({
  group: 'autoscaling',
  version: 'v1',
  kind: 'Scale',
  plural: 'scales',
  namespaced: true,
  columns: [
    { ...column('Desired', ({ spec }) => valueAt(spec, 'replicas') ?? 0), type: 'integer' },
    { ...column('Available', ({ status }) => valueAt(status, 'replicas') ?? 0), type: 'integer' },
  ],
})
