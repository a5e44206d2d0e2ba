import type { JsonObject } from '../../model/api-object.ts'
import { type ApiDocument, listAt, objectAt, textAt } from '../document.ts'
import { type Column, column, type Resource } from './resource.ts'

/** Returns the wide columns with the names and images of the containers of the Pod template at a path below `spec`. */
export function containerColumnsAt(...path: readonly string[]): Resource['columns'] {
  const [names, images] = containerCells(({ spec }) => objectAt(spec, ...path, 'spec'))
  return [column('Containers', names, { wide: true }), column('Images', images, { wide: true })]
}

/** Returns the cells with the names and the images of the containers of a Pod spec. */
export function containerCells(
  podSpecOf: (document: ApiDocument) => JsonObject,
): readonly [names: Column['cell'], images: Column['cell']] {
  const cellOf = (field: string) => (document: ApiDocument) =>
    listAt(podSpecOf(document), 'containers')
      .map((container) => textAt(container, field))
      .join(',')
  return [cellOf('name'), cellOf('image')]
}
