import { renderAddressPort } from '../../model/ip.ts'
import type { FrontendEndpoint } from '../frontend.ts'

/**
 * Puts n endpoints into the places 1 to n. The places depend on the endpoints alone, not on what was before, so a restart finds
 * the same ones; and where one endpoint comes or goes, only a few others move (about the logarithm of n). In order of their
 * hashes, each endpoint takes the first free place of its own random sequence.
 *
 * @param endpoints without duplicates, in any order
 * @returns the endpoint of place i + 1 at index i
 */
export function inPlaces(endpoints: readonly FrontendEndpoint[]): readonly FrontendEndpoint[] {
  if (endpoints.length < 2) return endpoints
  const mask = 2 ** Math.ceil(Math.log2(endpoints.length)) - 1
  const places = new Array<FrontendEndpoint | undefined>(endpoints.length)
  for (const { endpoint, hash } of inHashOrder(endpoints)) {
    let random = hash || 1
    while ((random & mask) >= endpoints.length || places[random & mask] !== undefined) random = nextRandom(random)
    places[random & mask] = endpoint
  }
  return places.filter((endpoint) => endpoint !== undefined)
}

/**
 * Numbers by which clients remember endpoints of one destination: from the endpoint's address and port alone, so that a number
 * hardly ever changes hands. Never below 0x10000, where places are, and never a classid that nft prints as a word.
 */
export function rememberedNumbers(endpoints: readonly FrontendEndpoint[]): readonly number[] {
  const taken = new Set<number>()
  return endpoints.map((endpoint) => {
    let number = firstNumber + (hashOf(textOf(endpoint)) % numbers)
    while (taken.has(number)) number = number + 1 < firstNumber + numbers ? number + 1 : firstNumber
    taken.add(number)
    return number
  })
}

const firstNumber = 0x1_0000
const numbers = 0xffff_0000 - firstNumber

function inHashOrder(
  endpoints: readonly FrontendEndpoint[],
): readonly { readonly endpoint: FrontendEndpoint; readonly hash: number }[] {
  return endpoints
    .map((endpoint) => {
      const text = textOf(endpoint)
      return { endpoint, hash: hashOf(text), text }
    })
    .sort((a, b) => a.hash - b.hash || (a.text < b.text ? -1 : 1))
}

function textOf({ address, port }: FrontendEndpoint): string {
  return renderAddressPort(address, port)
}

/** FNV-1a, then a mix of all bits: neighbouring addresses have unlike hashes. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5
  for (let index = 0; index < text.length; index++) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193)
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return (hash ^ (hash >>> 16)) >>> 0
}

/** Xorshift (Marsaglia, 2003): visits every number of 32 bits but zero. */
function nextRandom(value: number): number {
  let next = value ^ (value << 13)
  next ^= next >>> 17
  return (next ^ (next << 5)) >>> 0
}
