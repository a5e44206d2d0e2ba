import type { JsonObject } from '../../model/api-object.ts'
import type { Dialect } from '../../model/dialect.ts'
import { type GroupVersionKind, kindOfSubresource, verbsOf } from '../discovery/groups.ts'
import { listKindOf, type Resource } from '../resources/resource.ts'
import { builtInSchema, objectFields, typeSchema } from '../schema/built-in-schema.ts'
import { object, type Schema } from '../schema/schema.ts'
import { kindComponentName, listComponentName, typeComponentName } from './component-names.ts'
import { customSchema } from './custom-schema.ts'
import { referenceTo, SharedTypes, toOpenApiSchema } from './open-api-schema.ts'
import { groupVersionKind, kindExtension } from './operations.ts'

/** Returns the components: the kinds by their API names, their lists, the inputs and answers of their operations, and shared types. */
export function toComponents(resources: readonly Resource[], dialect: Dialect['name'], version: 2 | 3): JsonObject {
  const shared = new SharedTypes(dialect)
  const kinds = resources.flatMap((resource) => [
    [kindComponentName(resource, dialect), toKind(resource, shared, version)] as const,
    ...(verbsOf(resource).includes('list')
      ? [[listComponentName(resource, dialect), toList(resource, shared)] as const]
      : []),
  ])
  const others = partsOf(resources).map((kind) => [kindComponentName(kind, dialect), toPart(kind, shared)] as const)
  return { ...Object.fromEntries(others), ...commonTypes(shared), ...shared.all(), ...Object.fromEntries(kinds) }
}

/** Returns the other kinds that subresources are written as, each once. */
function partsOf(resources: readonly Resource[]): readonly GroupVersionKind[] {
  const parts = resources.flatMap((resource) =>
    resource.subresources
      .map((subresource) => kindOfSubresource(resource, subresource))
      .filter(({ kind }) => kind !== resource.kind),
  )
  return [...new Map(parts.map((part) => [`${part.group}/${part.version}/${part.kind}`, part])).values()]
}

function toKind(resource: Resource, shared: SharedTypes, version: 2 | 3): JsonObject {
  const { typeName: _, ...schema } = resource.isCustom === true ? customSchema(resource, version) : resource.schema
  return { ...toOpenApiSchema(schema, shared), ...extensions(resource, resource, shared) }
}

function extensions(resource: Resource, kind: GroupVersionKind, { dialect }: SharedTypes): JsonObject {
  const paths = resource.isCustom === true ? Object.keys(resource.selectableFields) : []
  const selectable = paths.map((fieldPath) => ({ fieldPath }))
  return {
    ...kindExtension(dialect, [groupVersionKind(kind)]),
    ...(selectable.length === 0 ? {} : { 'x-kubernetes-selectable-fields': selectable }),
  }
}

function toList(resource: Resource, shared: SharedTypes): JsonObject {
  const kind = listKindOf(resource)
  const schema = object({
    ...objectFields,
    metadata: {
      ...typeSchema('meta.v1.ListMeta'),
      description: 'The version of the list, and where its next page is.',
    },
  })
  const { properties, ...rest } = toOpenApiSchema(schema, shared)
  const $ref = referenceTo(kindComponentName(resource, shared.dialect))
  const items = { type: 'array', description: `The objects of kind ${resource.kind}.`, items: { $ref } }
  return {
    description: `A list of objects of kind ${resource.kind}.`,
    ...rest,
    required: ['items'],
    properties: { ...(properties as JsonObject), items },
    ...extensions(resource, { ...resource, kind }, shared),
  }
}

function toPart(kind: GroupVersionKind, shared: SharedTypes): JsonObject {
  const { typeName: _, ...schema } = builtInSchema(kind.group, kind.version, kind.kind)
  return { ...toOpenApiSchema(schema, shared), ...kindExtension(shared.dialect, [groupVersionKind(kind)]) }
}

/** Returns the types that the operations of every kind use beside its objects. */
function commonTypes(shared: SharedTypes): JsonObject {
  const { dialect } = shared
  const entries = ['DeleteOptions', 'Status'].map((kind) => {
    const { typeName: _, properties, ...schema } = typeSchema(`meta.v1.${kind}`)
    const own: Schema = { ...schema, properties: { ...objectFields, ...properties } }
    const extension = kindExtension(dialect, [{ group: '', version: 'v1', kind }])
    return [typeComponentName(`meta.v1.${kind}`, dialect), { ...toOpenApiSchema(own, shared), ...extension }] as const
  })
  const patch = { type: 'object', description: 'A change of an object in the form that its media type says.' }
  return { ...Object.fromEntries(entries), [typeComponentName('meta.v1.Patch', dialect)]: patch }
}
