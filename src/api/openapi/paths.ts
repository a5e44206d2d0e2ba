import type { Dialect } from '../../model/dialect.ts'
import type { Resource } from '../resources/resource.ts'
import { connectionPathsOf } from './connection-paths.ts'
import { collectionPath, type OperationPath, objectPathsOf } from './operations.ts'

/** Returns every path of a resource, with its operations. */
export function pathsOf(resource: Resource, dialect: Dialect['name']): readonly OperationPath[] {
  const objectPath = `${collectionPath(resource)}/{name}`
  return [...objectPathsOf(resource, dialect), ...connectionPathsOf(resource, objectPath)]
}
