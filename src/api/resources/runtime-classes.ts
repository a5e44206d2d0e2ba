import { isDeepStrictEqual } from 'node:util'
import type { Json } from '../../model/api-object.ts'
import type { Dialect } from '../../model/dialect.ts'
import { type ApiDocument, listAt, objectAt, textAt, without } from '../document.ts'
import { duplicateField, type FieldError, invalidField } from '../schema/field-error.ts'
import { checkLabels } from '../schema/metadata-rules.ts'
import { checkDnsLabel } from '../schema/names.ts'
import { defineKind } from './define-kind.ts'
import { resourceRequirements } from './pod-spec/resource-rules.ts'
import { tolerations } from './pod-spec/scheduling-rules.ts'
import { column, type Resource } from './resource.ts'

/** The kind RuntimeClass: how the container runtime of a kubelet runs the Pods that name the class, and at what cost. */
export function runtimeClasses({ groups }: Dialect): Resource {
  return defineKind({
    group: groups.node,
    version: 'v1',
    kind: 'RuntimeClass',
    plural: 'runtimeclasses',
    namespaced: false,
    columns: [column('Handler', ({ handler }) => textAt(handler))],
    strategy: { createsOnUpdate: true, needsRevision: 'object', validate, validateUpdate },
  })
}

const overheadRules = resourceRequirements([])

function validate({ handler, overhead, scheduling }: ApiDocument): readonly FieldError[] {
  const fault = checkDnsLabel(textAt(handler))
  return [
    ...(fault === undefined ? [] : [invalidField('handler', textAt(handler), fault)]),
    ...overheadRules({ limits: objectAt(overhead, 'podFixed') }, 'overhead'),
    ...checkLabels(objectAt(scheduling, 'nodeSelector'), 'scheduling.nodeSelector'),
    ...checkTolerations(listAt(scheduling, 'tolerations')),
  ]
}

/** Kubernetes names the list twice in the errors of its items. */
function checkTolerations(list: readonly Json[]): readonly FieldError[] {
  const path = 'scheduling.tolerations'
  const kinds = list.map((toleration) => without(objectAt(toleration), 'tolerationSeconds'))
  return [
    ...tolerations([...list], `${path}.tolerations`),
    ...kinds.flatMap((kind, index) =>
      kinds.slice(0, index).some((earlier) => isDeepStrictEqual(earlier, kind))
        ? [duplicateField(`${path}[${index}]`, list[index] ?? null)]
        : [],
    ),
  ]
}

function validateUpdate({ handler }: ApiDocument, old: ApiDocument): readonly FieldError[] {
  return handler === old['handler'] ? [] : [invalidField('handler', handler, 'field is immutable')]
}
