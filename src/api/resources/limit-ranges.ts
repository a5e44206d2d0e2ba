import type { Json, JsonObject } from '../../model/api-object.ts'
import { type ApiDocument, isJsonObject, listAt, objectAt, textAt, withMetadata } from '../document.ts'
import { defineKind } from './define-kind.ts'
import { validateLimitRange } from './limit-range-rules.ts'
import type { Resource } from './resource.ts'

export function limitRanges(): Resource {
  return defineKind({
    group: '',
    version: 'v1',
    kind: 'LimitRange',
    plural: 'limitranges',
    shortNames: ['limits'],
    namespaced: true,
    defaults: { spec: { default: {}, properties: { limits: { default: [] } } } },
    strategy: {
      prepareForCreate: (limitRange) => complete(withName(limitRange)),
      prepareForUpdate: complete,
      validate: validateLimitRange,
    },
  })
}

/** Kubernetes gives a LimitRange that has no name one that is unique. */
function withName(limitRange: ApiDocument): ApiDocument {
  const { name, uid } = limitRange.metadata
  return name || uid === undefined ? limitRange : withMetadata(limitRange, { name: uid })
}

function complete(limitRange: ApiDocument): ApiDocument {
  const spec = objectAt(limitRange['spec'])
  return { ...limitRange, spec: { ...spec, limits: listAt(spec, 'limits').map(completeItem) } }
}

/** Fills in the defaults of containers: a limit is the maximum, a request the limit, else the minimum. */
function completeItem(item: Json): Json {
  if (!isJsonObject(item) || textAt(item, 'type') !== 'Container') return item
  const limits: JsonObject = { ...objectAt(item, 'max'), ...objectAt(item, 'default') }
  const requests: JsonObject = { ...objectAt(item, 'min'), ...limits, ...objectAt(item, 'defaultRequest') }
  return { ...item, ...filled('default', limits), ...filled('defaultRequest', requests) }
}

function filled(field: string, amounts: JsonObject): JsonObject {
  return Object.keys(amounts).length === 0 ? {} : { [field]: amounts }
}
