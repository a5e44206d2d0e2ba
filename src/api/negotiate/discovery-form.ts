import { notAcceptable } from '../status.ts'
import { type MediaRange, mediaTypes, parseAccept } from './accept.ts'

export type DiscoveryForm = keyof typeof mediaTypes

const forms: readonly DiscoveryForm[] = ['json', 'yaml', 'protobuf']

/**
 * Returns the form of a discovery document, and whether one document holds all groups: clients that name the aggregated form anywhere in their list
 * get it, even when they prefer others. Only `/api` and `/apis` have it (`isRoot`). Throws a 406.
 */
export function chooseDiscoveryForm(
  accept: string | undefined,
  isRoot: boolean,
): { readonly form: DiscoveryForm; readonly isAggregated: boolean } {
  const ranges = parseAccept(accept)
  if (ranges.length === 0) return { form: 'json', isAggregated: false }
  const aggregated = isRoot ? firstForm(ranges.filter(asksForAggregated)) : undefined
  if (aggregated !== undefined) return { form: aggregated, isAggregated: true }
  const form = firstForm(ranges.filter(({ parameters }) => !converted.some((name) => parameters.has(name))))
  if (form !== undefined) return { form, isAggregated: false }
  throw notAcceptable(forms.map((each) => mediaTypes[each]))
}

/** The parameters by which a client requests another kind than the one at the path. */
const converted = ['as', 'g', 'v']

function asksForAggregated({ parameters }: MediaRange): boolean {
  return (
    parameters.get('as') === 'APIGroupDiscoveryList' &&
    parameters.get('g') === 'apidiscovery.k8s.io' &&
    parameters.get('v') === 'v2'
  )
}

function firstForm(ranges: readonly MediaRange[]): DiscoveryForm | undefined {
  for (const { type } of ranges) {
    const isAny = type === '*/*' || type === 'application/*'
    const form = isAny ? 'json' : forms.find((each) => mediaTypes[each] === type)
    if (form !== undefined) return form
  }
  return undefined
}
