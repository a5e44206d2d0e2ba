import type { Dialect } from '../../model/dialect.ts'
import { type ApiDocument, textAt, valueAt } from '../document.ts'
import { type FieldError, invalidField } from '../schema/field-error.ts'
import { defineKind } from './define-kind.ts'
import { column, type Resource } from './resource.ts'

export function leases(dialect: Dialect): Resource {
  return defineKind({
    group: dialect.groups.coordination,
    version: 'v1',
    kind: 'Lease',
    plural: 'leases',
    namespaced: true,
    defaults: { spec: { default: {} } },
    columns: [column('Holder', (lease) => textAt(lease['spec'], 'holderIdentity'))],
    strategy: {
      takesAnyFinalizer: true,
      createsOnUpdate: true,
      validate: validateLease,
      needsRevision: 'object-and-status',
    },
  })
}

function validateLease(lease: ApiDocument): readonly FieldError[] {
  return [
    ...validateAtLeast(lease, 'leaseDurationSeconds', 1, 'must be greater than 0'),
    ...validateAtLeast(lease, 'leaseTransitions', 0, 'must be greater than or equal to 0'),
  ]
}

function validateAtLeast(lease: ApiDocument, field: string, least: number, why: string): readonly FieldError[] {
  const value = valueAt(lease['spec'], field)
  return typeof value !== 'number' || value >= least ? [] : [invalidField(`spec.${field}`, value, why)]
}
