import { isDeepStrictEqual } from 'node:util'
import type { Json, JsonObject } from '../../model/api-object.ts'
import type { Dialect } from '../../model/dialect.ts'
import { isQualifiedName } from '../../model/selector.ts'
import { type ApiDocument, listAt, objectAt, textAt } from '../document.ts'
import { fields, nonNegative, repeatedItems } from '../schema/checks.ts'
import { duplicateField, type FieldError, invalidField, requiredField, tooLongField } from '../schema/field-error.ts'
import { qualifiedNameRule } from '../schema/metadata-rules.ts'
import { checkDnsSubdomain } from '../schema/names.ts'
import { defineKind } from './define-kind.ts'
import type { Resource } from './resource.ts'

const maxNameLength = 63
const maxNodeIdLength = 256

/** The kind CSINode: the CSI drivers of a node. Its kubelet creates the object and is not ready before. */
export function csiNodes(dialect: Dialect): Resource {
  return defineKind({
    group: dialect.groups.storage,
    version: 'v1',
    kind: 'CSINode',
    plural: 'csinodes',
    namespaced: false,
    defaults: { spec: { default: {} } },
    columns: [{ name: 'Drivers', type: 'integer', priority: 0, cell: (node) => driversOf(node).length }],
    strategy: {
      needsRevision: 'object-and-status',
      showDeleted: (node) => node,
      validate: checkDrivers,
      validateUpdate: changedDrivers,
    },
  })
}

const driversPath = 'spec.drivers'

function driversOf(node: ApiDocument): readonly Json[] {
  return listAt(node['spec'], 'drivers')
}

function checkDrivers(node: ApiDocument): readonly FieldError[] {
  const drivers = driversOf(node)
  const repeated = repeatedItems(drivers.map((driver) => textAt(driver, 'name')))
  return drivers.flatMap((driver, index) => checkDriver(driver, `${driversPath}[${index}]`, repeated.has(index)))
}

function checkDriver(driver: Json, path: string, isRepeated: boolean): readonly FieldError[] {
  const name = textAt(driver, 'name')
  return [
    ...checkDriverName(name, `${path}.name`),
    ...checkNodeId(textAt(driver, 'nodeID'), `${path}.nodeID`),
    ...fields({ allocatable: fields({ count: nonNegative }) })(driver, path),
    ...(isRepeated ? [duplicateField(`${path}.name`, name)] : []),
    ...checkTopologyKeys(listAt(driver, 'topologyKeys').map(String), path),
  ]
}

/** Checks the name of a CSI driver; the letters of its domain may be capital ones. */
export function checkDriverName(name: string, path: string): readonly FieldError[] {
  const problem = checkDnsSubdomain(name.toLowerCase())
  return [
    ...(name === '' ? [requiredField(path)] : []),
    ...(name.length > maxNameLength ? [tooLongField(path, maxNameLength)] : []),
    ...(problem === undefined ? [] : [invalidField(path, name, problem)]),
  ]
}

function checkNodeId(nodeId: string, path: string): readonly FieldError[] {
  if (nodeId === '') return [requiredField(path)]
  if (Buffer.byteLength(nodeId) <= maxNodeIdLength) return []
  return [invalidField(path, nodeId, `must be ${maxNodeIdLength} characters or less`)]
}

/** Checks the topology keys; Kubernetes reports errors at the driver, not at the key. */
function checkTopologyKeys(keys: readonly string[], path: string): readonly FieldError[] {
  const repeated = repeatedItems(keys)
  return keys.flatMap((key, index) => [
    ...(key === '' ? [requiredField(path)] : []),
    ...(repeated.has(index) ? [duplicateField(path, key)] : []),
    ...(isQualifiedName(key) ? [] : [invalidField(path, key, qualifiedNameRule)]),
  ])
}

/** Returns an error for each driver that an update changes; a driver may only be added or removed as a whole. */
function changedDrivers(node: ApiDocument, old: ApiDocument): readonly FieldError[] {
  const before = new Map(driversOf(old).map((driver) => [textAt(driver, 'name'), driver]))
  return driversOf(node)
    .filter((driver) => isChanged(driver, before.get(textAt(driver, 'name'))))
    .map((driver) => invalidField(driversPath, driver, 'field is immutable'))
}

function isChanged(driver: Json, before: Json | undefined): boolean {
  return before !== undefined && !isDeepStrictEqual(withKeys(driver), withKeys(before))
}

/** Returns a driver with its list of topology keys: an absent list equals an empty one. */
function withKeys(driver: Json): JsonObject {
  return { ...objectAt(driver), topologyKeys: listAt(driver, 'topologyKeys') }
}
