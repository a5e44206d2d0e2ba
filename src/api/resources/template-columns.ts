import { type ApiDocument, listAt, textAt } from '../document.ts'
import { column, type Resource } from './resource.ts'

/** Returns the wide columns with the names and images of the containers of the Pod template at a path below `spec`. */
export function containerColumnsAt(...path: readonly string[]): Resource['columns'] {
  const cellOf =
    (field: string) =>
    ({ spec }: ApiDocument) =>
      listAt(spec, ...path, 'spec', 'containers')
        .map((container) => textAt(container, field))
        .join(',')
  return [column('Containers', cellOf('name'), { wide: true }), column('Images', cellOf('image'), { wide: true })]
}
