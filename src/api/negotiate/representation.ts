import { listKindOf, type Resource } from '../resources/resource.ts'
import { notAcceptable, unsuitableForm } from '../status.ts'
import { chooseRepresentation, formsOfText, nameOfMetadata, type Representation } from './accept.ts'

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
  const { encoding, view } = representation
  if (verb === 'watch' && encoding !== 'json') throw notAcceptable(formsOfWatches)
  const hasNone =
    (view.kind === 'table' && target.resource.review !== undefined) ||
    (encoding === 'protobuf' && target.resource.isCustom === true)
  if (hasNone) throw notAcceptable(formsOfText)
  if (view.kind === 'metadata') refuseOtherName(target.resource, verb, accept)
  return representation
}

const formsOfWatches = ['application/json;stream=watch']

/** Metadata alone has one name for an object and one for a list; kube-apiserver refuses the other, in these words. */
function refuseOtherName(resource: Resource, verb: string, accept: string | undefined): void {
  const name = nameOfMetadata(accept)
  if (verb === 'list' && name === 'PartialObjectMetadata')
    throw unsuitableForm(`you requested ${name}, but the requested object is a list (${listKindOf(resource)})`)
  if (verb === 'get' && name === 'PartialObjectMetadataList')
    throw unsuitableForm(`you requested ${name}, but the requested object is not a list (${resource.kind})`)
}
