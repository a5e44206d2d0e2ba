import type { Resource } from '../resources/resource.ts'
import { notAcceptable } from '../status.ts'
import { chooseRepresentation, formsOfText, isTable, type Representation } from './accept.ts'

interface Asked {
  readonly target: { readonly resource: Resource }
  readonly verb: string
}

/** Returns the form of the answer to a request. Throws a 406 for unsupported forms: a Table of a review, events and custom resources as protobuf. */
export function representationFor(
  { target, verb }: Asked,
  accept: string | undefined,
  includeObject: string,
): Representation {
  const representation = chooseRepresentation(accept, includeObject)
  const hasNone =
    (isTable(representation) && target.resource.review !== undefined) ||
    (representation === 'protobuf' && (verb === 'watch' || target.resource.isCustom === true))
  if (hasNone) throw notAcceptable(formsOfText)
  return representation
}
