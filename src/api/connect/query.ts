import { isSwitchedOn } from '../query-switch.ts'
import { badRequest } from '../status.ts'

export function readSwitch(query: URLSearchParams, name: string): boolean {
  return isSwitchedOn(query.get(name))
}

const maxInt64 = 2n ** 63n - 1n

/** Reads a whole number of 64 bits; undefined where the query has none. Throws a 400 in kube-apiserver's words. */
export function readInteger(query: URLSearchParams, name: string): bigint | undefined {
  const text = query.get(name)
  if (text === null) return undefined
  const why = (reason: string) => badRequest(`strconv.ParseInt: parsing ${JSON.stringify(text)}: ${reason}`)
  if (!/^[+-]?\d{1,100}$/.test(text)) throw why('invalid syntax')
  const value = BigInt(text.replace(/^\+/, ''))
  if (value > maxInt64 || value < -maxInt64 - 1n) throw why('value out of range')
  return value
}
