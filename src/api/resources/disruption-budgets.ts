import { type ApiDocument, isJsonObject, listAt, objectAt, textAt, valueAt } from '../document.ts'
import { exactlyOneOf, fields, nonNegative } from '../schema/checks.ts'
import { type FieldError, invalidField } from '../schema/field-error.ts'
import { checkPathSegment } from '../schema/names.ts'
import { conditions } from './condition-rules.ts'
import { defineKind } from './define-kind.ts'
import { validateLabelSelector } from './label-selector.ts'
import { column, type Resource } from './resource.ts'
import { podCount } from './workload-rules.ts'

/** The kind PodDisruptionBudget; its group has the same name in every dialect. */
export function disruptionBudgets(): Resource {
  const counts = Object.fromEntries(
    ['disruptionsAllowed', 'currentHealthy', 'desiredHealthy', 'expectedPods'].map((name) => [name, { default: 0 }]),
  )
  return defineKind({
    group: 'policy',
    version: 'v1',
    kind: 'PodDisruptionBudget',
    plural: 'poddisruptionbudgets',
    shortNames: ['pdb'],
    namespaced: true,
    subresources: ['status'],
    countsGeneration: true,
    defaults: { spec: { default: {} }, status: { default: {}, properties: counts } },
    columns: [
      column('Min Available', ({ spec }) => textAt(spec, 'minAvailable') || 'N/A'),
      column('Max Unavailable', ({ spec }) => textAt(spec, 'maxUnavailable') || 'N/A'),
      {
        ...column('Allowed Disruptions', ({ status }) => Number(textAt(status, 'disruptionsAllowed') || 0)),
        type: 'integer',
      },
    ],
    strategy: { validateName: checkPathSegment, needsRevision: 'object-and-status', validate, validateStatus },
  })
}

const upToAll = podCount(100)
const specRules = fields({
  minAvailable: upToAll,
  maxUnavailable: upToAll,
  selector: (selector, path) => validateLabelSelector(selector, path),
  unhealthyPodEvictionPolicy: exactlyOneOf('AlwaysAllow', 'IfHealthyBudget'),
})

function validate({ spec }: ApiDocument): readonly FieldError[] {
  const object = objectAt(spec)
  const isBoth = ['minAvailable', 'maxUnavailable'].every((field) => (object[field] ?? null) !== null)
  return [
    ...(isBoth ? [invalidField('spec', object, 'minAvailable and maxUnavailable cannot be both set')] : []),
    ...specRules(object, 'spec'),
  ]
}

const statusRules = fields({
  conditions,
  disruptionsAllowed: nonNegative,
  currentHealthy: nonNegative,
  desiredHealthy: nonNegative,
  expectedPods: nonNegative,
})

function validateStatus({ status }: ApiDocument): readonly FieldError[] {
  return statusRules(objectAt(status), 'status')
}

/** Checks whether a Pod is ready: an eviction takes nothing from an application that it was not part of. */
export function isPodReady(pod: ApiDocument): boolean {
  const ready = listAt(valueAt(pod['status'], 'conditions')).find(
    (each) => isJsonObject(each) && each['type'] === 'Ready',
  )
  return textAt(ready, 'status') === 'True'
}
