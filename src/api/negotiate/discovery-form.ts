import { notAcceptable } from '../status.ts'
import { type MediaRange, mediaTypes, parseAccept } from './accept.ts'

export type DiscoveryForm = keyof typeof mediaTypes

const forms: readonly DiscoveryForm[] = ['json', 'yaml', 'protobuf']

/**
 * The form of a discovery document, and whether all groups come in one: clients that name this at all are given it, whatever else they
 * name first. Only `/api` and `/apis` have it (`isRoot`). Throws a 406.
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

/** By these parameters a client asks for another kind than what stands at the path. */
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
